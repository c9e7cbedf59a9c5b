// A run or checkpoint made ready for use: model with the trained weights, vocabulary, config.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/arguments.h"
#include "generate/generate.h"
#include "inference/model.h"
#include "inference/scorer.h"

namespace chargpt {

class LoadedRun {
 public:
  /// A checkpoint that `use` is made of. Errors: as InferenceModel.
  LoadedRun(Checkpoint loaded, const ModelUse& use);

  Checkpoint checkpoint;
  std::unique_ptr<InferenceModel> model;
  const Config& config() const { return checkpoint.config.config; }
  /// Whatever computes losses; made when it is first asked for.
  WindowScorer& scorer();
  /// The next characters, by whatever computes them.
  std::unique_ptr<NextLogits> next_logits(DecodeOptions options);

 private:
  int threads_;
  std::unique_ptr<Scorer> scorer_;
};

/// What load_checkpoint had to say, to stderr: a damaged checkpoint as a warning, which --quiet does not silence.
void log_loading(const std::vector<std::string>& notices);

/// `which`: best, last or step-N, empty for best; Error usage if `run` is one checkpoint's folder and `which` names
/// another, or `use` names another device than the CPU. Notices (a fall-back to another checkpoint, the choice between
/// trained and averaged weights) go to stderr.
LoadedRun load_run(const std::string& run, const std::string& which, const ModelUse& use = {},
                   bool with_optimizer = false);
/// The config of a run's last checkpoint.
ResolvedConfig config_of_run(const std::string& run);
/// --checkpoint; empty if not given: then best.
void add_checkpoint_option(Options& options, std::string& checkpoint);
/// --weights
void add_weights_option(Options& options, Weights& weights);
/// --device and --threads, of a command that reads weights.
void add_device_arguments(Options& options, ModelUse& use);

}  // namespace chargpt
