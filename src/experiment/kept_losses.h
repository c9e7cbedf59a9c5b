// The losses of a run on every token of the validation split, kept beside the run so that later comparisons need no
// model:
//   RUN/val_losses.f32   little-endian float32, one per token in the order of the text
//   RUN/val_losses.json  {"version":2,"count","crc64","config","seed","loss",…}; written last, so its presence means
//   all is there
// Knows no model and no statistics.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "experiment/ranking.h"
#include "text/corpus.h"

namespace chargpt {

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
