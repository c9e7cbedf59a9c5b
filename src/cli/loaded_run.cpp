#include "cli/loaded_run.h"

#include "compute/device.h"
#include "model/registry.h"
#include "report/log.h"

namespace chargpt {

void log_loading(const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) notice.starts_with(damage_notice) ? log_warning(notice) : log_note(notice);
}

LoadedRun load_run(const std::string& run, const std::string& which, const DeviceArguments& device,
                   const std::string& engine) {
  LoadedRun loaded;
  std::vector<std::string> notices;
  loaded.checkpoint = load_checkpoint(run, which, /*with_optimizer=*/false, notices);
  log_loading(notices);
  set_threads(device.threads);
  const Config& config = loaded.config();
  check_model_config(config.model);
  loaded.model =
      make_model(config.model, loaded.checkpoint.vocabulary.size(), static_cast<std::uint64_t>(config.train.seed));
  loaded.model->to(choose_device(device.device));
  loaded.arena = std::make_unique<ParameterArena>(*loaded.model, config.train);
  loaded.arena->load_model(*loaded.checkpoint.model, (loaded.checkpoint.path / "model.safetensors").string());
  loaded.engine = make_engine(engine, *loaded.model, *loaded.arena, config.train);
  return loaded;
}

}  // namespace chargpt
