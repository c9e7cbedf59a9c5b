// `chargpt configs`: the presets with what to expect of them, and the schema of a config file.

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "base/embedded.h"
#include "base/error.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "compare/ladder.h"
#include "config/describe.h"
#include "config/document.h"
#include "config/load.h"
#include "network/model_types.h"
#include "report/format.h"
#include "report/report.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  bool schema = false;
  std::string show;
};

Json schema_with_model_types() {
  Json schema = config_schema();
  schema["properties"]["model"]["properties"]["type"]["enum"] = model_types();
  return schema;
}

/// The row of a preset in configs/expected.json without its single runs; null if it has none. Written by
/// scripts/measure/presets.py:
/// {"version","defaults","machines":{name:{…}},"rows":{preset:{"config","loss","ci95":[low,high],"seconds",
/// "params","runs":[…],"date","machine"} or {"config","not_measured"}}}.
Json expected_of(const std::string& preset) {
  static const auto all = Json::parse(embedded_file("configs/expected.json"));
  const auto row = all["rows"].find(preset);
  if (row == all["rows"].end()) return nullptr;
  Json expected = *row;
  expected.erase("runs");
  if (expected.contains("machine")) expected["machine"] = all["machines"][expected["machine"].get<std::string>()];
  return expected;
}

std::string expected_loss(const Json& row) {
  const Json& expected = row["expected"];
  if (expected.is_null()) return missing;
  if (!expected.contains("loss")) return "not measured";
  const auto& ci95 = expected["ci95"];
  const std::string half =
      ci95.is_null() ? "" : " ± " + format_fixed((ci95[1].get<double>() - ci95[0].get<double>()) / 2, 3);
  return format_fixed(expected["loss"].get<double>(), 3) + half + (expected.contains("leaks") ? ", leaks" : "");
}

/// The first sentence of the comment that a preset's file begins with.
std::string purpose_of(const std::string& preset) {
  std::istringstream file{std::string(preset_text(preset))};
  std::string purpose;
  for (std::string line; std::getline(file, line) && line.starts_with("//");) purpose += line.substr(2);
  purpose.erase(0, purpose.find_first_not_of(' '));
  const std::size_t end = purpose.find(". ");
  return end == std::string::npos ? purpose : purpose.substr(0, end + 1);
}

/// Presets by name; those of the ladder in teaching order.
std::vector<std::string> presets_in_order() {
  std::vector<std::string> all = preset_names();
  std::ranges::stable_sort(all, {}, [](const std::string& preset) {
    const auto* const rung = std::ranges::find(ladder, preset, &Rung::preset);
    return rung == std::end(ladder) ? std::pair(preset, rung) : std::pair(std::string("ladder/"), rung);
  });
  return all;
}

/// Figures on one line, and the purpose of the preset below it.
Report describe_presets() {
  Report report(Json::array());
  for (const std::string& preset : presets_in_order()) {
    const Config config = load_config(preset).config;
    report.json.push_back({{"name", preset},
                           {"purpose", purpose_of(preset)},
                           {"model_type", config.model.type},
                           {"parameters", count_parameters(config.model, 65)},
                           {"block_size", config.model.block_size},
                           {"batch_size", config.train.batch_size},
                           {"max_iters", config.train.max_iters},
                           {"expected", expected_of(preset)}});
  }
  Table table = table_of(report.json,
                         {{"preset", as_is("name")},
                          {"expected loss", expected_loss},
                          {"time", cell("expected/seconds", format_duration)},
                          {"parameters", as_is("parameters")},
                          {"block", as_is("block_size")},
                          {"type", as_is("model_type")}},
                         as_is("purpose"));
  table.may_leave_out({"type", "block", "parameters", "time"});
  report.add(std::move(table));
  report.say(
      "\nExpected on the validation split of tinyshakespeare, ± 95 % over seeds on that text, on the machine that "
      "configs/README.md names; parameters for 65 symbols.\n→ chargpt inspect NAME\n");
  return report;
}

/// Shows the text of a preset or file; --json drops its comments.
Report show_config(const std::string& name) {
  load_config(name);  // an Error unless it is a config
  const std::string text = named_document(name).text;
  Report report(Json::parse(text, nullptr, true, /*ignore_comments=*/true));
  report.draw(text);
  return report;
}

Report run_configs(const Arguments& arguments) {
  if (arguments.show.empty() && !arguments.schema) return describe_presets();
  if (!arguments.schema) return show_config(arguments.show);
  Report report(schema_with_model_types());
  report.draw(json_text(report.json));
  return report;
}

}  // namespace

void add_configs(Options& options) {
  Arguments& arguments = arguments_for(options, run_configs);
  const Option& schema = options.flag("--schema", arguments.schema, "print the JSON Schema of a config file");
  options.add("--show", arguments.show, "print a config, a preset's or a file, to start your own from")
      .excludes(schema);
}

}  // namespace chargpt
