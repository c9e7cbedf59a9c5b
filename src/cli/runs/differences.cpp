#include "cli/runs/differences.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "cli/runs/loaded_run.h"
#include "compare/same_training.h"
#include "config/describe.h"
#include "config/load.h"
#include "network/model_types.h"
#include "page/page_data.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "report/terminal.h"
#include "run/run_folder.h"
#include "run/strict_json.h"

namespace chargpt {

namespace {

Json outcome_of(const std::string& path, const Checkpoint& checkpoint) {
  const fs::path run = run_of(path);
  Json json = {{"run", run.string()}};
  json.update(outcome_json(checkpoint, ending_of(run)));
  return json;
}

/// Adds whether two runs of one config contain the same training, up to the last common step.
void add_training(Report& report, const fs::path& first, const fs::path& second) {
  const Json& runs = report.json["runs"];
  const std::int64_t last = std::min(runs[0]["step"].get<std::int64_t>(), runs[1]["step"].get<std::int64_t>());
  try {
    const SameTraining same = compare_trainings(first, second, last);
    report.json["training"] = to_json(same);
    report.json["training"]["text"] = to_text(same);
    report.say("\nTraining: " + to_text(same) + "\n");
  } catch (const Error& error) {  // without metrics, as an imported run
    if (error.code() != ExitCode::data) throw;
  }
}

bool differ_in(const Json& runs, const char* name) {
  return !runs[0].is_null() && !runs[1].is_null() && runs[0][name] != runs[1][name];
}

}  // namespace

std::string shown_value(const Json& value) {
  return printable(value.is_string() ? value.get<std::string>() : json_text(value, -1, ""), std::string::npos);
}

std::string shown_figure(const std::string& name, const Json& value, bool exact) {
  if (name == "seconds") return format_duration(value);
  if (value.is_null() || value == std::numeric_limits<double>::infinity()) return missing;
  if (name.ends_with("loss")) return format_nats(value, exact);
  return value.is_number_integer() ? format_count(value) : shown_value(value);
}

std::string ending_of(const fs::path& run) {
  if (run.empty()) return "unknown";
  return is_locked(run) ? "running" : std::string(enum_name(ending_in_metrics(run)));
}

// metrics.jsonl decides on the ending: a signal, or weights that are not finite, may have ended the run after its last
// checkpoint.
Json outcome_json(const Checkpoint& checkpoint, const std::string& ended) {
  const RunState& state = checkpoint.state;
  const Config& config = checkpoint.config.config;
  return {{"best_val_loss", best_loss(state)},
          {"best_step", state.best_step == RunProgress::no_step ? Json() : Json(state.best_step)},
          {"exact", state.exact},
          {"step", state.step},
          {"max_iters", state.max_iters},
          {"ended", ended == "unknown" ? enum_name(state.ended) : ended},
          {"parameters", state.parameters},
          {"seconds", state.seconds},
          {"text", text_of(state, config.data)},
          {"text_crc64", json_hex(state.data.crc64)},
          {"val_fraction", config.data.val_fraction},
          {"test_fraction", config.data.test_fraction},
          {"max_val_tokens", config.data.max_val_tokens},
          {"leaks", leaks(config.model)}};
}

std::string outcome_text(const std::string& name, const Json& outcome) {
  const bool leaks = name == "best_val_loss" && outcome["leaks"] == true;
  return shown_figure(name, outcome[name], outcome["exact"]) + (leaks ? " (leaks)" : "");
}

Report report_of_differences(std::span<const std::string> paths) {
  std::vector<Config> configs;
  Json runs = Json::array(), differences = Json::array();
  for (const std::string& path : paths) {
    const bool is_config = !is_run_or_checkpoint(path);
    const std::optional<Checkpoint> checkpoint =
        is_config ? std::nullopt : std::optional(loaded_checkpoint(path, "last"));
    configs.push_back(is_config ? load_config(path).config : checkpoint->config.config);
    runs.push_back(is_config ? Json() : outcome_of(path, *checkpoint));
  }
  Table table({"", paths[0], paths[1]});
  for (const DifferingOption& option : differing_options(configs)) {
    const Json first = Json::parse(option.values[0]), second = Json::parse(option.values[1]);
    differences.push_back({{"option", option.key}, {"values", {first, second}}});
    table.add({option.key, shown_value(first), shown_value(second)});
  }
  if (differences.empty()) table.add({"every option", "the same"});
  if (!runs[0].is_null() || !runs[1].is_null()) {
    const auto figure = [](const char* name, const Json& run) { return run.is_null() ? "" : outcome_text(name, run); };
    table.add({});
    for (const char* name : {"best_val_loss", "best_step", "step", "max_iters", "ended", "parameters", "seconds"})
      table.add({name, figure(name, runs[0]), figure(name, runs[1])});
  }
  Report report(Json{{"kind", "differences"}, {"paths", paths}, {"differences", differences}, {"runs", runs}});
  report.add(std::move(table));
  if (differences.empty() && std::ranges::all_of(paths, is_folder)) add_training(report, paths[0], paths[1]);
  if (std::ranges::any_of(held_out_facts, [&](const char* name) { return differ_in(runs, name); }))
    report.say("\nTheir texts or held-out parts differ: do not compare the losses.\n");
  return report;
}

}  // namespace chargpt
