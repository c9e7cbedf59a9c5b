#include "cli/runs/run_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/paths.h"
#include "cli/runs/loaded_run.h"
#include "cli/version.h"
#include "config/load.h"
#include "inference/model_types.h"
#include "page/page.h"
#include "report/log.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json data_of_runs(const std::vector<fs::path>& runs) {
  Json all = Json::array();
  std::optional<Config> first;
  for (const fs::path& run : runs) {
    const Checkpoint checkpoint = loaded_checkpoint(run, "last");
    std::vector<std::string> notices;
    Json data = run_data(run, checkpoint, notices);
    for (const std::string& notice : notices) log_note(notice);
    const Config& config = checkpoint.config.config;
    if (!first) first = config;
    std::vector<std::string> differs = changed_options(*first, config);
    leave_out(differs, {"data.text", "train.teacher", "eval.", "sample."});
    if (std::max(first->train.max_seconds, config.train.max_seconds) > 0)
      leave_out(differs, {"train.decay_steps"});  // the clock decided them
    data["differs"] = differs;
    all.push_back(std::move(data));
  }
  return all;
}

Json data_of_model(const PageModel& wanted, Json* checkpoint) {
  const LoadedRun run = load_run(wanted.run, wanted.checkpoint, wanted.use);
  if (checkpoint != nullptr) *checkpoint = checkpoint_json(run);
  Json model = model_data(*run.model, run.checkpoint.vocabulary);
  run.checkpoint.vocabulary.encode(wanted.prompt, "--prompt");  // refuses what the model has never seen
  model["prompt"] = wanted.prompt;
  model["start_symbol"] = run.checkpoint.state.start_symbol;
  if (run.checkpoint.vocabulary.document() >= 0) model["document"] = run.checkpoint.vocabulary.document();
  model["leaks"] = leaks(run.config().model);
  return model;
}

/// "a" of "quick a" where every config begins with "quick ", as variants of one do.
std::string short_name(const Json& results, const std::string& config) {
  const std::string base = config.substr(0, config.find(' ') + 1);
  const bool all = std::ranges::all_of(
      results, [&](const Json& result) { return result["config"].get_ref<const std::string&>().starts_with(base); });
  return all ? config.substr(base.size()) : config;
}

/// A line that may tell of a run's checkpoint, with the run's name in place of its folder.
std::string without_folder(std::string line, const std::string& folder) {
  if (folder.find('/') == std::string::npos) return line;  // it says no more than its name
  const std::string name = name_of_path(folder);
  for (std::size_t at = line.find(folder); at != std::string::npos; at = line.find(folder, at + name.size()))
    line.replace(at, folder.size(), name);
  return line;
}

/// The comparison without the runs' folders, which are private; `runs`, the data of `paths`, are named
/// by their configs.
Json shown_comparison(Json comparison, const std::vector<fs::path>& paths, Json& runs) {
  for (Json& result : comparison["results"])
    for (Json& seed : result["seeds"]) {
      const std::string folder = seed["run"];
      const auto path = std::ranges::find(paths, fs::path(folder));
      if (path != paths.end())
        runs[static_cast<std::size_t>(path - paths.begin())]["name"] =
            short_name(comparison["results"], result["config"]);
      if (seed.contains("failure")) seed["failure"] = without_folder(seed["failure"], folder);
      for (Json& remark : comparison["remarks"]) remark = without_folder(remark, folder);
      seed.erase("run");
    }
  return comparison;
}

}  // namespace

std::string page_of_runs(const std::vector<fs::path>& runs, const std::optional<PageModel>& model,
                         const Json* comparison, Json* checkpoint) {
  Json data = {{"title", "chargpt: " + name_of_path(runs.front())}};
  if (runs.size() > 1) data["title"] = "chargpt: " + std::to_string(runs.size()) + " runs";
  data["subtitle"] = runs.size() > 1
                         ? model ? "Runs beside one another, and the model of the first." : "Runs beside one another."
                     : model ? "A small language model, how it was trained, and the model itself."
                             : "A small language model, and how it was trained.";
  if (comparison) {
    const std::size_t configs = (*comparison)["results"].size();
    data["title"] = "chargpt: " + std::to_string(configs) + (configs == 1 ? " config" : " configs") + " compared";
    data["subtitle"] = "The ranking, the best model, and one run of each config with the same seed.";
  }
  data["version"] = program_version();
  data["runs"] = data_of_runs(runs);
  if (comparison) data["comparison"] = shown_comparison(*comparison, runs, data["runs"]);
  data["baselines"] = baseline_data(runs.front());
  data["verdict"] = runs.size() > 1 ? "" : verdict_data(runs.front(), data["runs"][0]["best_step"]);
  data["model"] = model ? data_of_model(*model, checkpoint) : Json(nullptr);
  return page_html(data);
}

}  // namespace chargpt
