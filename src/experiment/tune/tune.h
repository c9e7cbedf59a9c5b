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

#include "experiment/tune/search_space.h"
#include "ranks/communicator.h"
#include "report/table.h"
#include "train/trainer.h"

namespace chargpt {

struct TuneOptions {
  double seconds = 600;                               ///< for all of it; the last training may end a little later
  std::int64_t memory = 0;                            ///< bytes that a training may take; 0: half of what there is
  TrainerOptions trainer;                             ///< device, engine, threads, stop
  std::function<void(const std::string& line)> told;  ///< of each step of the search; may be empty
  /// Processes that share the trainings, each its own; null: this one alone. All find the same, rank 0's clock decides.
  Communicator* ranks = nullptr;
};

/// One training of a candidate.
struct Trained {
  std::size_t round = 0;  ///< from 1
  double seconds = 0;     ///< that it was given
  std::int64_t steps = 0;
  double loss = 0;           ///< on the held-out part; infinite where it failed
  std::string failure = {};  ///< it diverged, or memory ran out
};

struct Trial {
  Candidate candidate;
  Config config = {};
  std::int64_t parameters = 0;
  std::vector<Trained> rounds = {};  ///< one for each round it took part in
  std::size_t last_round() const { return rounds.empty() ? 0 : rounds.back().round; }
};

struct Tuning {
  Config start = {};
  std::int64_t train_tokens = 0, scored_tokens = 0, memory = 0;
  double full_seconds = 0;  ///< that the config's own length takes here
  double spent_seconds = 0;
  std::vector<RangePoint> range = {};
  double centre = 1;  ///< factor of the rates that the search was around
  std::vector<Round> rounds = {};
  std::vector<Trial> trials = {};  ///< best first: by the last round that each took part in, then by loss
  bool complete = true;            ///< false: stopped

  const Trial& best() const { return trials.front(); }
  /// The config as it is; it takes part in the first round and the last.
  const Trial& before() const;
};

/// Errors: usage for no time, a model that sees its own targets or options that do not fit; data for a text too short
/// to hold a part out; memory where the config itself is above the cap.
Tuning tune(const ResolvedConfig& config, const Corpus& corpus, const TuneOptions& options);

/// The best candidate's config, to take as long as the config tuned does: named NAME-tuned.
Config tuned_config(const Tuning& tuning);

/// A config file with comments: what was changed, from what, and why it was chosen.
std::string tuned_text(const Tuning& tuning, const std::string& command);
nlohmann::ordered_json to_json(const Tuning& tuning);
Table to_table(const Tuning& tuning);

}  // namespace chargpt
