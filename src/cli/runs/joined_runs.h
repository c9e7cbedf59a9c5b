// Several runs as one model, the mean of their probabilities (predict/ensemble.h), or one run alone; and what --adapt
// and --counts make of them.
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

/// The options of commands that take several runs as one.
struct JoinedArguments : ModelArguments {
  std::vector<std::string> runs;
  UnknownPolicy unknown = UnknownPolicy::error;
  bool counts = false;
};

class JoinedRuns {
 public:
  /// At least one, all of one vocabulary.
  explicit JoinedRuns(std::vector<LoadedRun> runs);

  const std::vector<LoadedRun>& all() const { return runs_; }
  /// The one that speaks for all where they differ.
  const LoadedRun& first() const { return runs_.front(); }
  bool are_several() const { return runs_.size() > 1; }
  /// What says which character comes next: the networks, or what adapt() and mix_with_counts() have made of them.
  Predictor& predictor() { return mixture_ ? static_cast<Predictor&>(*mixture_) : *networks_; }
  /// The networks as they were trained: the only one, or the mean of all.
  Predictor& trained() { return *trained_; }
  /// Of windows that are scored: the shortest.
  std::int64_t block_size() const { return trained_->block_size(); }
  /// Characters that a text is continued from, at most: the longest window, or what counts look back.
  std::int64_t context() const;
  /// Whether one of them sees the symbols that it is to predict.
  bool leaks() const;
  /// From here on the networks learn from what is scored, each by itself.
  void adapt(const Adaptation& adaptation);
  /// From here on the predictor is mixed with counts of the train split of the text that all have learned from. A line
  /// on stderr says where not all of that was counted, or nothing could be learned from it. After adapt().
  void mix_with_counts(const Corpus& corpus, const Heartbeat& heartbeat);
  /// Null without counts.
  const Mixture* mixture() const { return mixture_.get(); }

 private:
  Predictor* mean_of(const std::vector<Predictor*>& predictors);

  std::vector<LoadedRun> runs_;
  std::vector<std::unique_ptr<Predictor>> owned_;  ///< adaptive networks and means
  Predictor *trained_ = nullptr, *networks_ = nullptr;
  std::unique_ptr<Mixture> mixture_;
};

/// All of arguments.runs; a line says where they have different windows. Errors: as load_run; data where their symbols
/// differ, naming the first that does.
JoinedRuns load_runs(const JoinedArguments& arguments);

/// Error usage for two of them that are of one run.
void refuse_twice(const std::vector<std::string>& runs);

/// The first difference between two runs' texts (text_difference); empty where all have learned from one.
std::string text_difference(const JoinedRuns& runs);
/// Error usage if counts of the training text are asked of a checkpoint outside a run, which has none, or of runs that
/// share no training split.
void refuse_counts(const JoinedRuns& runs);

/// Adds "checkpoint", checkpoint_json() of the only run; of several "members", to each of which its name and checkpoint
/// are added.
void add_checkpoints(nlohmann::ordered_json& json, const JoinedRuns& runs);

/// RUN… of a command that takes several as one. Left out, they become the newest in runs/, which a line names.
Option& add_runs_argument(Options& options, std::vector<std::string>& runs);
/// The same before another argument, declared next: `rest` takes the last word where `is_rest` says so of it; `alone`:
/// it is the only one.
Option& add_runs_argument(Options& options, std::vector<std::string>& runs, std::string& rest,
                          bool (*is_rest)(const std::string& word, bool alone));

}  // namespace chargpt
