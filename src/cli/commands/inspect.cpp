// `chargpt inspect PATH`: contents of a run, checkpoint, config or text; `chargpt inspect A B`: how two differ.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/commands/inspect_text.h"
#include "cli/output.h"
#include "cli/runs/differences.h"
#include "cli/runs/loaded_run.h"
#include "config/describe.h"
#include "config/document.h"
#include "network/layers.h"
#include "network/model_types.h"
#include "network/parameter_groups.h"
#include "report/format.h"
#include "report/report.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/kept_text.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "text/corpus.h"
#include "text/documents.h"
#include "text/text_listing.h"
#include "train/schedule.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  std::string path, other, checkpoint;
  bool verify = false, all = false;
};

/// The peak learning rate and the weight decay of each group of parameters.
Json describe_groups(const Config& config, std::int64_t symbols) {
  Json groups = Json::array();
  for (const ParameterGroup& group : groups_in_force(config, symbols))
    groups.push_back({{"group", group.name},
                      {"parameters", group.parameters},
                      {"optimizer", enum_name(group.rule)},
                      {"learning_rate", group.learning_rate},
                      {"weight_decay", group.weight_decay}});
  return groups;
}

/// "304,768 parameters: 4,160 embedding, 73,728 attention, …"
std::string parameters_by_place(const ModelConfig& model, std::int64_t symbols) {
  std::map<Place, std::int64_t> counts;
  for (const Parameter& parameter : parameter_list(model, symbols)) counts[parameter.place] += parameter.numel();
  std::vector<std::string> parts;
  for (const auto& [place, count] : counts) parts.push_back(line_of(format_count(count), " ", enum_name(place)));
  return format_count(count_parameters(model, symbols), "parameter") + ": " + joined(parts, ", ");
}

/// The options, in the order of declaration, and where each value is from: those that are not at their defaults, or
/// `all`.
Table options_table(const ResolvedConfig& resolved, bool all) {
  Table table({"option", "value", "default"});
  if (all) table.may_leave_out({"default"});
  for (const OptionInfo& option : option_table()) {
    const Json value = option.get(resolved.config), standard = option.get(Config());
    if (!all && value == standard) continue;
    const std::string key = option.key();
    table.add({key, key == "train.groups" ? "above" : shown_value(value), shown_value(standard)});
    table.add_remark(option.help + " (from " + resolved.origin.at(key).text() + ")");
  }
  return table;
}

/// Adds the parameter groups and the options.
void add_options(Report& report, const ResolvedConfig& resolved, std::int64_t symbols, bool all) {
  Json origins;
  for (const auto& [key, origin] : resolved.origin) origins[key] = origin.text();
  const Json groups = describe_groups(resolved.config, symbols);
  report.json.update({{"parameter_groups", groups}, {"config", to_json(resolved.config)}, {"origin", origins}});
  report.say("\n" + parameters_by_place(resolved.config.model, symbols) + "\n\n");
  report.add(table_of(groups, {{"parameters", as_is("group")},
                               {"count", as_is("parameters")},
                               {"optimizer", as_is("optimizer")},
                               {"peak rate", as_is("learning_rate")},
                               {"decay", as_is("weight_decay")}}));
  report.draw("\n");
  report.add(options_table(resolved, all));
  if (!all) report.say("\nother options are at their defaults; --all shows them\n");
}

/// Throws Error missing if `path` is neither there nor a preset, and a run has nearly that name.
void refuse_missing(const std::string& path) {
  const bool known = is_there(path) || !preset_meant(path).empty();
  const std::string runs = known ? "" : runs_near(path);
  if (runs.find("did you mean") != std::string::npos)
    throw Error(ExitCode::missing, "no run, config or text at " + printable_path(path) + runs);
}

/// Describes a config without its text; inspect TEXT and train --dry-run describe the text.
Report report_of_config(const std::string& path, bool all) {
  refuse_missing(path);
  const ResolvedConfig resolved = load_config(path);
  check_model(resolved);
  constexpr std::int64_t usual_symbols = 65;  // of tinyshakespeare
  const DataConfig& data = resolved.config.data;
  const std::int64_t symbols = data.units == Units::bytes ? 256 + std::int64_t{has_documents(data)} : usual_symbols;
  const std::int64_t parameters = count_parameters(resolved.config.model, symbols);
  Report report(
      Json{{"kind", "config"}, {"name", resolved.config.name}, {"parameters", parameters}, {"vocab_size", symbols}});
  report.say("config " + resolved.config.name + ", for a text of " + format_count(symbols, "symbol") + "\n");
  add_options(report, resolved, symbols, all);
  return report;
}

Report report_of_checkpoint(const Arguments& arguments) {
  check_choice(arguments.path, arguments.checkpoint);
  const Checkpoint checkpoint = loaded_checkpoint(
      arguments.path, arguments.checkpoint.empty() ? "last" : arguments.checkpoint, /*with_optimizer=*/true);
  const RunState& state = checkpoint.state;
  Report report(Json{{"kind", "checkpoint"}, {"path", checkpoint.path.string()}, {"val_loss", state.val_loss}});
  report.json.update(outcome_json(checkpoint, ending_of(run_of(arguments.path))));
  report.json.update({{"vocab_size", checkpoint.vocabulary.size()},
                      {"program", state.program_version},
                      {"libtorch", state.libtorch_version},
                      {"cpu_capability", state.cpu_capability},
                      {"device", state.device},
                      {"engine", state.engine},
                      {"threads", state.threads}});
  Table facts;
  for (const auto& [key, value] : report.json.items())
    if (key != "kind") facts.add({key, shown_figure(key, value, state.exact)});
  report.add(std::move(facts));
  add_options(report, checkpoint.config, checkpoint.vocabulary.size(), arguments.all);
  return report;
}

/// Throws Error data, naming the first damaged file: a checkpoint, or the text kept in the run. Skips a file that a
/// training process has removed since it was listed.
void verify_all(const fs::path& path) {
  const Heartbeat line = work_line("verifying");
  std::vector<fs::path> files = list_checkpoints(path);
  if (fs::is_directory(path)) kept_text(path, {});
  if (files.empty()) files.push_back(path);
  for (std::int64_t verified = 0; const fs::path& file : files) {
    beat(line, verified++, std::ssize(files));
    try {
      read_checkpoint(file, /*with_optimizer=*/true);
    } catch (const Error& error) {
      if (error.code() != ExitCode::missing) throw;
    }
  }
}

/// Whether a folder that is not a run contains texts.
bool is_folder_of_texts(const std::string& path) {
  if (is_run(path) || is_there(fs::path(path) / "checkpoints")) return false;
  try {
    return !list_texts({path}, Units::bytes).files.empty();  // in any encoding; reading reports errors
  } catch (const Error&) {
    return false;
  }
}

enum class Kind { checkpoint, text, config };

/// What a path names; config if nothing is there, as for a preset.
Kind kind_of(const fs::path& path) {
  if (path == sample_text_name || path == standard_input_name) return Kind::text;
  if (is_checkpoint_file(path)) return Kind::checkpoint;
  if (is_folder(path)) return is_folder_of_texts(path) ? Kind::text : Kind::checkpoint;
  const bool is_json = path.extension() == ".json" || path.extension() == ".jsonc";
  return is_file(path) && !is_json ? Kind::text : Kind::config;
}

Report report_of_both(const Arguments& arguments) {
  for (const std::string& path : {arguments.path, arguments.other}) {
    if (kind_of(path) == Kind::text)
      throw Error(ExitCode::usage, printable_path(path) + " is a text; compare two runs or configs");
    refuse_missing(path);
  }
  return report_of_differences(std::vector{arguments.path, arguments.other});
}

Report run_inspect(const Arguments& arguments) {
  if (!arguments.other.empty()) return report_of_both(arguments);
  const Kind kind = kind_of(arguments.path);
  const std::string option = arguments.verify ? "--verify" : arguments.checkpoint.empty() ? "" : "--checkpoint";
  if (kind != Kind::checkpoint && !option.empty())
    throw Error(ExitCode::usage, option, " is for runs and checkpoints, but ", printable(arguments.path), " is a ",
                kind == Kind::text ? "text" : "config", "; remove it");
  if (kind == Kind::text) return report_of_text(arguments.path, arguments.all);
  if (kind == Kind::config) return report_of_config(arguments.path, arguments.all);
  Report report = report_of_checkpoint(arguments);
  if (arguments.verify) verify_all(arguments.path);
  if (arguments.verify) report.json["verified"] = true;
  return report;
}

}  // namespace

void add_inspect(Options& options) {
  Arguments& arguments = arguments_for(options, run_inspect);
  options
      .add("PATH", arguments.path,
           "run, checkpoint file, config, preset, or text (a file, a folder, -; default: the newest run in runs/)")
      .stands_for(config_or_run_meant);
  Option& other = options.add("OTHER", arguments.other, "a second run or config, to show how the two differ")
                      .stands_for(config_or_run_meant);
  options.before_run([&path = arguments.path] {
    if (path.empty()) path = run_left_out();
  });
  options.add("--checkpoint", arguments.checkpoint, "of a run: best, last or step-N (default last)").excludes(other);
  options.flag("--verify", arguments.verify, "check every byte of every checkpoint and of the text").excludes(other);
  options.flag("--all", arguments.all, "also the options at their defaults; of a text, every symbol").excludes(other);
}

}  // namespace chargpt
