// Several runs as one model, the mean of their probabilities (predict/ensemble.h), or a single run; with --adapt and
// --counts applied.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "cli/runs/loaded_run.h"
#include "predict/adaptive_network.h"
#include "predict/ensemble.h"
#include "predict/mixture.h"

namespace chargpt {

/// The options of commands that treat several runs as one model.
struct JoinedArguments : ModelArguments {
  std::vector<std::string> runs;
  UnknownPolicy unknown = UnknownPolicy::error;
  bool counts = false;
};

class JoinedRuns {
 public:
  /// Loads all of arguments.runs, at least one. Errors: as load_run(); data if their vocabularies differ.
  explicit JoinedRuns(const JoinedArguments& arguments);

  const std::vector<LoadedRun>& all() const { return runs_; }
  /// The run whose settings apply where the runs differ.
  const LoadedRun& first() const { return runs_.front(); }
  bool are_several() const { return runs_.size() > 1; }
  /// The predictor of the next character: the networks, with adapt() and mix_with_counts() applied.
  Predictor& predictor() { return mixture_ ? static_cast<Predictor&>(*mixture_) : *networks_; }
  /// The networks as trained: the single one, or the mean of all.
  Predictor& trained() { return *trained_; }
  /// Length of the windows to score: the shortest of all runs.
  std::int64_t block_size() const { return trained_->block_size(); }
  /// Maximum context in characters for sampling: the longest window, or the reach of the counts.
  std::int64_t context() const;
  /// Whether one of the models sees its own targets.
  bool leaks() const;
  /// Makes each network learn from the text that it scores, from now on.
  void adapt(const Adaptation& adaptation);
  /// Mixes the predictor with counts of the train split that the runs share. Notes on stderr if only a part was
  /// counted. Call after adapt().
  void mix_with_counts(const Corpus& corpus, const Heartbeat& heartbeat);
  /// nullptr without counts.
  const Mixture* mixture() const { return mixture_.get(); }

 private:
  Predictor* mean_of(const std::vector<Predictor*>& predictors);

  std::vector<LoadedRun> runs_;
  std::vector<std::unique_ptr<Predictor>> owned_;  ///< adaptive networks and means
  Predictor *trained_ = nullptr, *networks_ = nullptr;
  std::unique_ptr<Mixture> mixture_;
};

/// Throws Error usage if two arguments name the same run.
void refuse_twice(const std::vector<std::string>& runs);

/// The first difference between the runs' texts (text_difference()); empty if all have the same text.
std::string text_difference(const JoinedRuns& runs);
/// Throws Error usage if --counts is impossible: a checkpoint is outside a run, so its training text is unknown, or the
/// runs have different train splits.
void refuse_counts(const JoinedRuns& runs);

/// Adds "checkpoint" (checkpoint_json()) for a single run; for
/// several, adds name and checkpoint to each of "members".
void add_checkpoints(nlohmann::ordered_json& json, const JoinedRuns& runs);

/// Adds RUN… for a command that treats several runs as one. Default: the newest in runs/, named on stderr. If `is_rest`
/// is true for the last word, that word goes to `rest` instead; `alone`: it is the only word.
Option& add_runs_argument(Options& options, std::vector<std::string>& runs, std::string* rest = nullptr,
                          bool (*is_rest)(const std::string& word, bool alone) = nullptr);

}  // namespace chargpt
