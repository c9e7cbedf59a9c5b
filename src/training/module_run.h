// A trained model as a LibTorch module: what a GPU, or a comparison with the reference engine, needs. Elsewhere
// inference/model.h reads the same checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/module_decoding.h"
#include "inference/model.h"
#include "model/language_model.h"
#include "parameters/arena.h"

namespace chargpt {

class ModuleRun {
 public:
  /// Errors: as choose_device(), make_engine() and ParameterArena::load_model().
  ModuleRun(const Checkpoint& checkpoint, const ModelUse& use);
  LanguageModel& model() { return *model_; }
  Engine& engine() { return *engine_; }

 private:
  std::shared_ptr<LanguageModel> model_;
  std::unique_ptr<ParameterArena> arena_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace chargpt
