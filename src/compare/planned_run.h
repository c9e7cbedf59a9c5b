// One planned run in this process: trained, or gone on with, to its end, and scored. Knows no other runs.
//
// Its losses on every token of the validation split are kept beside it, so that later comparisons need no model:
//   RUN/val_losses.f32   little-endian float32, one per token in the order of the text
//   RUN/val_losses.json  {"version":1,"count","crc64","seed","loss",…}; written last, so its presence means
//   all is there
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compare/ranking.h"
#include "text/corpus.h"
#include "train/trainer.h"

namespace chargpt {

/// What a child of run_all() is told beside what is in its folder.
struct PlannedTraining {
  std::filesystem::path run = {};      ///< with config.json, made by run_all()
  std::int64_t jobs = 1;               ///< trainings that share the machine's threads with this one, itself included
  std::filesystem::path replays = {};  ///< the run whose shares of time this one replays; empty: none
  TrainerOptions trainer = {};         ///< device, engine, threads, stop, program_version
  ReadingProgress reading = {};
  std::function<void(const std::vector<std::string>& notices)> told = {};  ///< of the checkpoint that it goes on from
};

/// False where it was stopped by training.trainer.stop. `listen`: the place to add listeners; `resume_step`: the step
/// that it goes on from. Errors: busy where another process trains it; missing, data; diverged; those of Trainer.
bool train_planned(const PlannedTraining& training,
                   const std::function<void(Trainer&, std::optional<std::int64_t> resume_step)>& listen);

/// One run's result as it is kept.
struct KeptRun {
  SeedRun seed;
  std::int64_t params = 0, block_size = 0;
  bool leaks = false;
  Fingerprint text;
};

/// Error io where writing fails.
void keep_losses(const std::filesystem::path& run, const KeptRun& kept);

/// nullopt where there are none; where they are damaged or of a newer version, nullopt and a line in `problem`.
std::optional<KeptRun> kept_losses(const std::filesystem::path& run, std::string& problem);

}  // namespace chargpt
