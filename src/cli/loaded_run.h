// A run or checkpoint made ready for use: model on its device with the trained weights, vocabulary, config.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/arguments.h"
#include "compute/engine.h"

namespace chargpt {

struct LoadedRun {
  Checkpoint checkpoint;
  std::shared_ptr<LanguageModel> model;
  std::unique_ptr<ParameterArena> arena;
  std::unique_ptr<Engine> engine;
  const Config& config() const { return checkpoint.config.config; }
};

/// What load_checkpoint had to say, to stderr: a damaged checkpoint as a warning, which --quiet does not silence.
void log_loading(const std::vector<std::string>& notices);

/// `which`: best, last or step-N; `engine`: empty, none is made; `weights`: better, trained or averaged. Notices (a
/// fall-back to another checkpoint, the choice between trained and averaged weights) go to stderr.
LoadedRun load_run(const std::string& run, const std::string& which, const DeviceArguments& device,
                   const std::string& engine, const std::string& weights = "better");
/// --weights
void add_weights_option(CLI::App& app, std::string& weights);

}  // namespace chargpt
