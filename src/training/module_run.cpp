#include "training/module_run.h"

#include "engine/device.h"
#include "model/registry.h"
#include "optimizer/averages.h"

namespace chargpt {

ModuleRun::ModuleRun(const Checkpoint& checkpoint, const ModelUse& use) {
  set_threads(use.threads);
  const Config& config = checkpoint.config.config;
  model_ = make_model(config.model, checkpoint.vocabulary.size(), static_cast<std::uint64_t>(config.train.seed));
  model_->to(choose_device(use.device));
  arena_ = std::make_unique<ParameterArena>(*model_, config.train);
  load_weights(*arena_, checkpoint, use.weights);
  round_matrices(*model_, use.storage);
  engine_ = make_engine(use.engine, *model_, *arena_, config.train);
}

}  // namespace chargpt
