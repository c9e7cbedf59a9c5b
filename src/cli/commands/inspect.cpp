// `chargpt inspect PATH`: what a run, a checkpoint, a config or a text holds; `chargpt inspect A B`: how two differ.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/commands/inspect_text.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/differences.h"
#include "cli/runs/loaded_run.h"
#include "config/describe.h"
#include "network/model_types.h"
#include "network/parameter_groups.h"
#include "report/format.h"
#include "report/table.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "text/corpus.h"
#include "text/documents.h"
#include "text/text_listing.h"
#include "train/schedule.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Arguments {
  OutputArguments output;
  std::string path, other, checkpoint;
  bool verify = false, all = false;
};

/// The options that are not what the program would take if nobody set them, in the order of declaration.
Json differing_from_defaults(const ResolvedConfig& resolved) {
  Json options = Json::array();
  for (const OptionInfo& option : option_table()) {
    const Json value = option.get(resolved.config), standard = option.get(Config());
    if (value == standard) continue;
    const std::string key = option.key();
    options.push_back({{"option", key},
                       {"value", value},
                       {"default", standard},
                       {"from", resolved.origin.at(key).text()},
                       {"help", option.help}});
  }
  return options;
}

/// The rate at the peak of the schedule and the decay of each group of parameters.
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

Json describe_options(const ResolvedConfig& resolved, std::int64_t symbols) {
  Json origins;
  for (const auto& [key, origin] : resolved.origin) origins[key] = origin.text();
  return {{"parameter_groups", describe_groups(resolved.config, symbols)},
          {"config", to_json(resolved.config)},
          {"origin", origins},
          {"differs_from_defaults", differing_from_defaults(resolved)}};
}

/// What a config says by itself; its text is described by inspect TEXT and train --dry-run.
Json describe_config(const ResolvedConfig& resolved) {
  constexpr std::int64_t usual_symbols = 65;  // of tinyshakespeare
  const DataConfig& data = resolved.config.data;
  const std::int64_t symbols = data.units == Units::bytes ? 256 + std::int64_t{has_documents(data)} : usual_symbols;
  Json json = {{"kind", "config"},
               {"name", resolved.config.name},
               {"parameters", count_parameters(resolved.config.model, symbols)},
               {"vocab_size", symbols}};
  json.update(describe_options(resolved, symbols));
  return json;
}

Json describe_checkpoint(const Arguments& arguments) {
  check_choice(arguments.path, arguments.checkpoint);
  std::vector<std::string> notices;
  const Checkpoint checkpoint = load_checkpoint(
      arguments.path, arguments.checkpoint.empty() ? "last" : arguments.checkpoint, /*with_optimizer=*/true, &notices);
  Json json = {{"kind", "checkpoint"},
               {"path", checkpoint.path.string()},
               {"step", checkpoint.state.step},
               {"max_iters", checkpoint.state.max_iters},
               {"val_loss", checkpoint.state.val_loss},
               {"best_val_loss", checkpoint.state.best_val_loss},
               {"best_step", best_step_of(checkpoint.state)},
               {"exact", checkpoint.state.exact},
               {"seconds", checkpoint.state.seconds},
               {"parameters", checkpoint.state.parameters},
               {"vocab_size", checkpoint.vocabulary.size()},
               {"program", checkpoint.state.program_version},
               {"libtorch", checkpoint.state.libtorch_version},
               {"cpu_capability", checkpoint.state.cpu_capability},
               {"device", checkpoint.state.device},
               {"engine", checkpoint.state.engine},
               {"threads", checkpoint.state.threads},
               {"notices", notices}};
  if (const DataConfig& data = checkpoint.config.config.data; data.test_fraction > 0)
    json["test"] = splits_by_position(checkpoint.state.data.tokens, data).test.size();
  json.update(describe_options(checkpoint.config, checkpoint.vocabulary.size()));
  return json;
}

/// Error data, naming the first file that is damaged: a checkpoint, or the text that the run has kept. A file that a
/// training process has removed since it was listed is left out.
void verify_all(const Arguments& arguments) {
  const fs::path path = arguments.path;
  WorkLine line(arguments.output);
  std::vector<fs::path> files = list_checkpoints(path);
  if (fs::is_directory(path)) kept_text(path, {});
  if (files.empty()) files.push_back(path);
  for (const fs::path& file : files) {
    line.show("verifying " + file.filename().string());
    try {
      read_checkpoint(file, /*with_optimizer=*/true);
    } catch (const Error& error) {
      if (error.code() != ExitCode::missing) throw;
    }
  }
}

/// "model.n_layer = 6 (default 4, from mine.json:3)", and below it what the option does.
void print_differing(const Json& options) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  for (const Json& option : options)
    print_lines(shown_value(option["option"]) + " = " + shown_value(option["value"], columns / 2) + " (default " +
                shown_value(option["default"], columns / 4) + ", from " + shown_value(option["from"]) + ")\n    " +
                shown_value(option["help"]) + "\n");
}

/// Those at their defaults, in the order of declaration.
void print_other_options(const Json& json) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO), width = std::clamp<std::size_t>(columns / 4, 12, 24);
  Table table({"option", "default", "what it is"});
  for (const OptionInfo& option : option_table()) {
    const std::string key = option.key();
    const auto& differing = json.at("differs_from_defaults");
    if (std::ranges::none_of(differing, [&](const Json& one) { return one["option"] == key; }))
      table.add({key, shown_value(json.at("config").at(option.section).at(option.name), columns == 0 ? 0 : width),
                 option.help});
  }
  print_table(table);
}

void print_options(const Json& json, bool all) {
  const Json& differing = json.at("differs_from_defaults");
  const std::size_t others = option_table().size() - differing.size();
  if (!differing.empty()) print_text("differs from the defaults:\n\n");
  print_differing(differing);
  if (!all)
    return print_lines("\n" + std::to_string(others) + " other options are at their defaults; --all shows them\n");
  print_text("\nat the defaults:\n\n");
  print_other_options(json);
}

/// The rate at the peak of the schedule, and the decay, of each group of parameters.
void print_groups(const Json& groups) {
  Table table({"parameters", "count", "optimizer", "peak rate", "decay"});
  for (const Json& group : groups)
    table.add({group["group"], format_count(group["parameters"]), group["optimizer"],
               line_of(group["learning_rate"].get<double>()), line_of(group["weight_decay"].get<double>())});
  print_text("\n");
  print_table(table);
  print_text("\n");
}

void print_config(const Json& json) {
  Table table;
  table.add({"config", json["name"]});
  table.add({"parameters", format_count(json["parameters"]) + ", for " + format_count(json["vocab_size"], "symbol")});
  print_table(table);
}

void print_checkpoint(const Json& json) {
  Table facts;
  for (const auto& [key, value] : json.items())
    if (!value.is_structured() && key != "kind") facts.add({key, shown_figure(key, value, json["exact"])});
  for (const Json& notice : json["notices"]) facts.add({"notice", notice});
  print_table(facts);
}

void print_description(const Json& json, bool all) {
  if (json["kind"] == "text") return print_text_description(json, all);
  json["kind"] == "config" ? print_config(json) : print_checkpoint(json);
  print_groups(json["parameter_groups"]);
  print_options(json, all);
}

/// Whether a folder that is not a run contains texts.
bool is_folder_of_texts(const std::string& path) {
  if (is_run(path) || is_there(fs::path(path) / "checkpoints")) return false;
  try {
    list_texts({path}, Units::bytes);  // of any encoding: reading it tells what is wrong
    return true;
  } catch (const Error& error) {
    return error.code() != ExitCode::missing && error.code() != ExitCode::data;
  }
}

bool is_text(const Arguments& arguments) {
  const fs::path path = arguments.path;
  if (path == sample_text_name || path == standard_input_name) return true;
  if (!is_there(path)) return false;
  if (fs::is_directory(path)) return !arguments.verify && arguments.checkpoint.empty() && is_folder_of_texts(path);
  return fs::is_regular_file(path) && path.extension() != ".json" && path.extension() != ".jsonc" &&
         !is_checkpoint_file(path);
}

/// Options for checkpoints make no sense for a config or a text.
void refuse_checkpoint_options(const Arguments& arguments) {
  const std::string option = arguments.verify ? "--verify" : arguments.checkpoint.empty() ? "" : "--checkpoint";
  if (!option.empty())
    throw Error(ExitCode::usage, option + " is for runs and checkpoints, and " + printable(arguments.path) + " is a " +
                                     (is_text(arguments) ? "text" : "config") + "; leave it out");
}

/// Error missing, with what may have been meant, unless `path` is there in some form.
void refuse_missing(const std::string& path) {
  if (is_there(path)) return;
  const std::string runs = runs_near(path);
  const bool near = runs.find("did you mean") != std::string::npos;
  try {
    load_config(path);
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing || !near) throw;
    throw Error(ExitCode::missing, "no run, config or text at " + printable_path(path) + runs);
  }
}

void inspect_both(const Arguments& arguments) {
  if (arguments.verify || !arguments.checkpoint.empty() || arguments.all)
    throw Error(ExitCode::usage,
                "--verify, --checkpoint and --all are for one path; leave them out, or the second path");
  for (const std::string& path : {arguments.path, arguments.other}) {
    Arguments one;
    one.path = path;
    if (is_text(one))
      throw Error(ExitCode::usage, printable_path(path) + " is a text; two runs or configs can be compared");
    refuse_missing(path);
  }
  const Json json = describe_differences(std::vector{arguments.path, arguments.other});
  arguments.output.json ? print_json(json) : print_differences(json);
}

void run_inspect(const Arguments& arguments) {
  if (!arguments.other.empty()) return inspect_both(arguments);
  const fs::path path = arguments.path;
  if (!is_run_or_checkpoint(path)) refuse_checkpoint_options(arguments);
  Json json;
  if (is_text(arguments)) {
    json = describe_text(arguments.path, arguments.output);
  } else if (is_run_or_checkpoint(path)) {
    json = describe_checkpoint(arguments);
    if (arguments.verify) verify_all(arguments);
  } else {
    refuse_missing(arguments.path);
    const ResolvedConfig resolved = load_config(arguments.path);
    check_model(resolved);
    json = describe_config(resolved);
  }
  if (arguments.verify) json["verified"] = true;
  arguments.output.json ? print_json(json) : print_description(json, arguments.all);
}

}  // namespace

void add_inspect(Options& options) {
  Arguments& arguments = arguments_for(options, run_inspect);
  options
      .add("PATH", arguments.path,
           "run, checkpoint file, config, preset, or text (a file, a folder, -; default: the newest run in runs/)")
      .stands_for(config_or_run_meant);
  options.add("OTHER", arguments.other, "a second run or config, to show how the two differ")
      .stands_for(config_or_run_meant);
  options.before_run([&path = arguments.path] {
    if (path.empty()) path = run_left_out();
  });
  options.add("--checkpoint", arguments.checkpoint, "of a run: best, last or step-N (default last)");
  options.flag("--verify", arguments.verify, "check every byte of every checkpoint and of the text");
  options.flag("--all", arguments.all, "also the options at their defaults; of a text, every symbol");
  add_output_arguments(options, arguments.output);
}

}  // namespace chargpt
