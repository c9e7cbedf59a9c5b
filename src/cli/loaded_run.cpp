#include "cli/loaded_run.h"

#include <CLI/CLI.hpp>
#include <cmath>

#include "compute/averages.h"
#include "compute/device.h"
#include "model/registry.h"
#include "report/format.h"
#include "report/log.h"

namespace chargpt {

namespace {

/// Of a checkpoint that has averaged weights, which are used is said.
void announce(const Checkpoint& checkpoint, Weights used) {
  if (!checkpoint.averaged) return;
  const RunState& state = checkpoint.state;
  const auto loss = [](double value) { return std::isfinite(value) ? format_fixed(value, 4) : "not evaluated"; };
  log_note("using the " + std::string(enum_name(used)) + " weights of " + checkpoint.path.filename().string() +
           " (validation loss: trained " + loss(state.val_loss) + ", averaged " + loss(state.averaged_val_loss) + ")");
}

}  // namespace

void add_weights_option(CLI::App& app, std::string& weights) {
  app.add_option("--weights", weights,
                 "where weights were averaged too (train.ema): better (by its validation loss), trained or averaged")
      ->check(CLI::IsMember({"better", "trained", "averaged"}));
}

void log_loading(const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) notice.starts_with(damage_notice) ? log_warning(notice) : log_note(notice);
}

LoadedRun load_run(const std::string& run, const std::string& which, const DeviceArguments& device,
                   const std::string& engine, const std::string& weights) {
  LoadedRun loaded;
  std::vector<std::string> notices;
  loaded.checkpoint = load_checkpoint(run, which, /*with_optimizer=*/false, notices);
  log_loading(notices);
  set_threads(device.threads);
  set_threads(1);  // for what follows: waking a pool of threads to fill a model costs more than it saves
  const Config& config = loaded.config();
  check_model_config(config.model);
  loaded.model =
      make_model(config.model, loaded.checkpoint.vocabulary.size(), static_cast<std::uint64_t>(config.train.seed));
  loaded.model->to(choose_device(device.device));
  loaded.arena = std::make_unique<ParameterArena>(*loaded.model, config.train);
  announce(loaded.checkpoint, load_weights(*loaded.arena, loaded.checkpoint, *enum_value<Weights>(weights)));
  set_threads(device.threads);
  if (!engine.empty()) loaded.engine = make_engine(engine, *loaded.model, *loaded.arena, config.train);
  return loaded;
}

}  // namespace chargpt
