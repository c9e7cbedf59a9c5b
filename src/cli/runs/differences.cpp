#include "cli/runs/differences.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "compare/same_training.h"
#include "config/describe.h"
#include "config/load.h"
#include "network/model_types.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "report/table.h"
#include "report/terminal.h"
#include "run/run_folder.h"
#include "run/strict_json.h"
#include "text/text_listing.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json outcome_of(const std::string& path, const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config.config;
  const fs::path run = run_place(path, "").run;
  Json json = {{"run", run.string()}, {"leaks", leaks(config.model)}, {"text", text_of(checkpoint.state, config.data)}};
  json.update(outcome_json(checkpoint.state, config.data, ending_of(run, checkpoint.state)));
  json["text_crc64"] = json_hex(checkpoint.state.data.crc64);
  json["max_val_tokens"] = config.data.max_val_tokens;
  return json;
}

/// Columns for each of two beside the names of the options.
std::size_t value_width(const Json& differences) {
  constexpr std::size_t least = 10, most = 60, gap = 2;
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  if (columns == 0) return most;
  std::size_t names = std::string_view("best_val_loss").size();
  for (const Json& one : differences) names = std::max(names, one["option"].get_ref<const std::string&>().size());
  const std::size_t room = columns > names ? (columns - names) / 2 : 0;
  return std::clamp(room - std::min(gap, room), least, most);
}

/// Two values on one line each; long ones that begin alike are shown from where they differ.
std::pair<std::string, std::string> from_the_difference(const Json& values, std::size_t width) {
  constexpr std::size_t enough = 8;  // characters shown from there on
  std::string first = shown_value(values[0]), second = shown_value(values[1]);
  const auto parts = static_cast<std::size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
  const std::size_t comma = first.rfind(',', parts);
  if (std::max(first.size(), second.size()) > width && parts + enough > width && comma != std::string::npos)
    for (std::string* text : {&first, &second}) *text = "..." + text->substr(comma + 1);
  return {first, second};
}

std::string figure_of(const std::string& name, const Json& run) {
  if (run.is_null()) return "";
  return shown_figure(name, run[name], run["exact"]) +
         (name == "best_val_loss" && run["leaks"] == true ? " (leaks)" : "");
}

/// Of two runs of one config: whether they contain the same training, as far as both have come.
void add_training(Json& json, const fs::path& first, const fs::path& second) {
  const std::int64_t last =
      std::min(json["runs"][0]["step"].get<std::int64_t>(), json["runs"][1]["step"].get<std::int64_t>());
  try {
    const SameTraining same = compare_trainings(first, second, last);
    json["training"] = to_json(same);
    json["training"]["text"] = to_text(same);
  } catch (const Error& error) {  // without metrics, as an imported run
    if (error.code() != ExitCode::data) throw;
  }
}

bool differ_in(const Json& runs, const char* name) {
  return !runs[0].is_null() && !runs[1].is_null() && runs[0][name] != runs[1][name];
}

}  // namespace

std::string shown_value(const Json& value, std::size_t width) {
  constexpr auto replace = Json::error_handler_t::replace;
  const std::string text =
      printable(value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, replace), std::string::npos);
  return width == 0 || display_width(text) <= width ? text : std::string(first_columns(text, width - 3)) + "...";
}

std::string shown_figure(const std::string& name, const Json& value, bool exact) {
  if (name == "seconds") return format_duration(value);
  if (value.is_null() || value == std::numeric_limits<double>::infinity()) return "-";
  if (name.ends_with("loss")) return format_nats(value, exact);
  return value.is_number_integer() ? format_count(value) : shown_value(value);
}

Json best_step_of(const RunState& state) {
  return state.best_step == RunProgress::no_step ? Json() : Json(state.best_step);
}

std::string text_of(const RunState& state, const DataConfig& data) {
  std::vector<std::string> names;
  for (const std::string& path : data.text) names.push_back(short_text_name(path));
  return joined(names, " + ") + ": " + format_count(state.data.tokens) + " " + std::string(enum_name(data.units));
}

Json outcome_json(const RunState& state, const DataConfig& data, const std::string& ended) {
  return {{"best_val_loss", state.best_val_loss},
          {"best_step", best_step_of(state)},
          {"exact", state.exact},
          {"step", state.step},
          {"max_iters", state.max_iters},
          {"ended", ended},
          {"parameters", state.parameters},
          {"seconds", state.seconds},
          {"val_fraction", data.val_fraction},
          {"test_fraction", data.test_fraction}};
}

// The last word is that of metrics.jsonl: a signal, or weights that are not finite, may have ended the run after its
// last save.
std::string ending_of(const fs::path& run, const RunState& state) {
  if (run.empty()) return std::string(enum_name(state.ended));
  if (is_locked(run)) return "running";
  const Ending last = ending_in_metrics(run);
  return std::string(enum_name(last == Ending::unknown ? state.ended : last));
}

Json describe_differences(std::span<const std::string> paths) {
  std::vector<Config> configs;
  Json runs = Json::array(), differences = Json::array();
  for (const std::string& path : paths) {
    if (!is_run_or_checkpoint(path)) {
      configs.push_back(load_config(path).config);
      runs.push_back(nullptr);
      continue;
    }
    const Checkpoint checkpoint = loaded_checkpoint(path, "last");
    configs.push_back(checkpoint.config.config);
    runs.push_back(outcome_of(path, checkpoint));
  }
  for (const DifferingOption& option : differing_options(configs)) {
    Json values = Json::array();
    for (const std::string& value : option.values) values.push_back(Json::parse(value));
    differences.push_back({{"option", option.key}, {"values", values}});
  }
  Json json = {{"kind", "differences"}, {"paths", paths}, {"differences", differences}, {"runs", runs}};
  if (differences.empty() && std::ranges::all_of(paths, is_folder)) add_training(json, paths[0], paths[1]);
  return json;
}

void print_differences(const Json& json) {
  const Json &differences = json["differences"], &runs = json["runs"];
  const std::size_t width = value_width(differences);
  Table table({"", shown_value(json["paths"][0], width), shown_value(json["paths"][1], width)});
  for (const Json& one : differences) {
    const auto& [first, second] = from_the_difference(one["values"], width);
    table.add({one["option"], shown_value(first, width), shown_value(second, width)});
  }
  if (differences.empty()) table.add({"every option", "the same"});
  if (!runs[0].is_null() || !runs[1].is_null()) {
    table.add({});
    for (const char* name : {"best_val_loss", "best_step", "step", "max_iters", "ended", "parameters", "seconds"})
      table.add({name, figure_of(name, runs[0]), figure_of(name, runs[1])});
  }
  print_table(table);
  if (json.contains("training")) print_lines("\nTraining: " + json["training"]["text"].get<std::string>() + "\n");
  constexpr std::array held_out{"text", "text_crc64", "val_fraction", "test_fraction", "max_val_tokens"};
  if (std::ranges::any_of(held_out, [&](const char* name) { return differ_in(runs, name); }))
    print_lines("\nTheir texts or held-out parts differ: do not compare the losses.\n");
}

}  // namespace chargpt
