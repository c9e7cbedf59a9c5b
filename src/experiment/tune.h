// `tune`: a learning-rate range test, then successive halving over a small space, within a time and a memory cap. Knows
// no command line and never prints.
//
// Candidates are scored on a part of the text that they do not train on: the last val_fraction of the *train* split.
// The validation split, and any other text, is not looked at, so the loss that a run of the result ends with is an
// honest one. Equal seconds, not equal steps: the question is the best model for one's time, and a wide model makes
// fewer steps.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiment/runs.h"
#include "experiment/search_space.h"
#include "report/table.h"
#include "train/trainer.h"

namespace chargpt {

/// One training of a candidate.
struct Trained {
  std::size_t round = 0;  ///< from 1
  double seconds = 0;     ///< that it was given
  std::int64_t steps = 0;
  double loss = 0;                    ///< on the held-out part; infinite where it failed
  std::optional<Error> failure = {};  ///< it diverged, its memory ran out, or it crashed
};

struct TuneOptions {
  double seconds = 600;     ///< for all of it; the last training may end a little later
  std::int64_t memory = 0;  ///< bytes that a training may take; 0: half of what there is
  double overhead = 0;      ///< seconds that a training takes beside its own, known before the first
  TrainerOptions trainer;   ///< of the range test: device, engine, threads, stop
  /// Trains a candidate, as train_candidate() does, within the train split; none where it was stopped.
  std::function<std::optional<Trained>(const PlannedRun& candidate)> train;
  std::function<void(const std::string& line)> told = [](const auto&...) {};  ///< of each step of the search
};

/// In a child in `candidate.folder`, which is not there before and after. Errors: those of run_all().
std::optional<Trained> train_candidate(const PlannedRun& candidate, const std::atomic<bool>* stop, RunsHooks hooks);

struct Trial {
  Candidate candidate;
  Config config = {};
  std::int64_t parameters = 0;
  std::vector<Trained> rounds = {};  ///< one for each round it took part in
  std::size_t last_round() const { return rounds.empty() ? 0 : rounds.back().round; }
  bool measured() const { return !rounds.empty() && !rounds.back().failure; }
};

struct Tuning {
  Config start = {};
  std::int64_t train_tokens = 0, scored_tokens = 0, memory = 0;
  double full_seconds = 0;  ///< that the config's own length takes here
  double spent_seconds = 0;
  std::vector<RangePoint> range = {};
  double centre = 1;  ///< factor of the rates that the search was around
  std::vector<Round> rounds = {};
  /// Best first: by the last round that each took part in, then by loss; at the end those whose last training failed.
  std::vector<Trial> trials = {};
  bool complete = true;  ///< false: stopped, and what was measured so far stands

  const Trial& best() const { return trials.front(); }
  /// The config as it is; it takes part in the first round and the last.
  const Trial& before() const;
  bool any_trained() const { return !trials.empty() && best().measured(); }
};

/// Errors: usage for no time, a model that sees its own targets or options that do not fit; data for a text too short
/// to hold a part out; memory where the config itself is above the cap; that of the config's own training where all
/// trainings failed.
Tuning tune(const ResolvedConfig& config, const Corpus& corpus, const TuneOptions& options);

/// The best candidate's config, to take as long as the config tuned does: named NAME-tuned.
Config tuned_config(const Tuning& tuning);

/// What a search began from.
struct TunedFrom {
  std::string extends;  ///< the preset, or the path of the file, as tuned.json finds it
  Config base;          ///< what that says, without what the command line changed
  std::string command;  ///< the whole command
};
/// A config file with comments: what differs from what the search began from, and why it was chosen.
std::string tuned_text(const Tuning& tuning, const TunedFrom& from);
nlohmann::ordered_json to_json(const Tuning& tuning);
Table to_table(const Tuning& tuning);

}  // namespace chargpt
