#include "cli/run_page.h"

#include <nlohmann/json.hpp>

#include "cli/loaded_run.h"
#include "cli/version.h"
#include "config/changed_options.h"
#include "inference/model_types.h"
#include "page/page.h"
#include "page/run_data.h"
#include "report/log.h"
#include "run/checkpoints.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The last checkpoint of a run, for what it records of it.
Checkpoint last_checkpoint(const fs::path& run) {
  std::vector<std::string> notices;
  Checkpoint checkpoint = load_checkpoint(run, "last", /*with_optimizer=*/false, notices);
  log_loading(notices);
  return checkpoint;
}

Json data_of_runs(const std::vector<fs::path>& runs) {
  Json all = Json::array();
  std::optional<Config> first;
  for (const fs::path& run : runs) {
    const Checkpoint checkpoint = last_checkpoint(run);
    std::vector<std::string> notices;
    Json data = run_data(run, checkpoint, notices);
    for (const std::string& notice : notices) log_note(notice);
    const Config& config = checkpoint.config.config;
    if (!first) first = config;
    for (const char* section : {"data", "model", "train"})
      for (const std::string& line : changed_options(*first, config, section))
        if (!line.starts_with("data.text ")) data["differs"].push_back(line);
    all.push_back(std::move(data));
  }
  return all;
}

Json data_of_model(const PageModel& wanted, Json* checkpoint) {
  const LoadedRun run = load_run(wanted.run, wanted.checkpoint, wanted.use);
  if (checkpoint != nullptr) *checkpoint = checkpoint_json(run);
  Json model = model_data(*run.model, run.checkpoint.vocabulary, wanted.stored_as);
  run.checkpoint.vocabulary.encode(wanted.prompt, "--prompt");  // refuses what the model has never seen
  model["prompt"] = wanted.prompt;
  model["start_symbol"] = run.checkpoint.state.start_symbol;
  model["leaks"] = leaks(run.config().model);
  return model;
}

/// Without the runs' folders, which are nobody else's business.
Json shown_comparison(Json comparison) {
  for (Json& result : comparison["results"])
    for (Json& seed : result["seeds"]) seed.erase("run");
  return comparison;
}

}  // namespace

std::string page_of_runs(const std::vector<fs::path>& runs, const std::optional<PageModel>& model,
                         const Json* comparison, Json* checkpoint) {
  Json data = {{"title", "chargpt: " + fs::absolute(runs.front()).lexically_normal().filename().string()}};
  if (runs.size() > 1) data["title"] = "chargpt: " + std::to_string(runs.size()) + " runs";
  data["subtitle"] = runs.size() > 1 ? "Runs beside one another, and the model of the first."
                                     : "A small language model, how it was trained, and the model itself.";
  if (comparison) {
    const std::size_t configs = (*comparison)["results"].size();
    data["title"] = "chargpt: " + std::to_string(configs) + (configs == 1 ? " config" : " configs") + " compared";
    data["subtitle"] = "The ranking, the best model, and one run of each config with the same seed.";
    data["comparison"] = shown_comparison(*comparison);
  }
  data["version"] = program_version();
  data["runs"] = data_of_runs(runs);
  data["baselines"] = baseline_data(runs.front());
  data["model"] = model ? data_of_model(*model, checkpoint) : Json(nullptr);
  data["no_model"] = "The page was written without the model (--no-model).";
  return page_html(data);
}

}  // namespace chargpt
