#include "cli/arguments.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "cli/failure.h"
#include "cli/help_text.h"
#include "cli/process.h"
#include "config/describe.h"
#include "kernels/processor.h"
#include "network/model_types.h"
#include "network/parameter_groups.h"
#include "report/log.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"
#include "run/run_name.h"

namespace chargpt {

void add_output_arguments(Options& options, OutputArguments& output, const char* json) {
  const Option& quiet = options.flag("--quiet", output.quiet, "only errors and warnings on stderr").group(output_group);
  options.flag("--verbose", output.verbose, "more on stderr, with backtraces of internal errors")
      .excludes(quiet)
      .group(output_group);
  options.add("--color", output.color, "colours on a terminal (NO_COLOR is honoured)")
      .one_of({"auto", "always", "never"})
      .group(output_group);
  if (json != nullptr) options.flag("--json", output.json, json).group(output_group);
}

void start_output(const OutputArguments& output) {
  failure_form = {.verbose = output.verbose, .json = output.json};
  start_log(output.quiet, uses_color(output.color, STDERR_FILENO), terminal_columns(STDERR_FILENO));
  if (const std::string wrong = settle_cpu_capability(); !wrong.empty()) log_warning(wrong);
}

void add_device_arguments(Options& options, DeviceArguments& arguments) {
  options.add("--device", arguments.device, "auto, cpu, cuda or cuda:N").group("Machine");
  options.add("--threads", arguments.threads, "CPU threads; 0: one per physical core").range(0, 1024).group("Machine");
}

namespace {

/// Options that a first run changes, in this order; the others follow by section.
constexpr std::array most_used = {"data.text",        "train.max_iters",     "train.max_epochs", "train.max_seconds",
                                  "train.batch_size", "train.learning_rate", "train.seed",       "model.n_layer",
                                  "model.n_head",     "model.n_embd",        "model.block_size", "model.dropout",
                                  "sample.tokens"};

constexpr const char* most_used_group = "Most used options of a config";

/// The options of `sections`, the most used first.
std::vector<OptionInfo> options_of(const std::vector<std::string>& sections) {
  std::vector<OptionInfo> options = option_table();
  std::erase_if(options, [&](const OptionInfo& option) { return std::ranges::count(sections, option.section) == 0; });
  std::ranges::stable_sort(options, {}, [](const OptionInfo& option) {
    return std::ranges::find(most_used, option.key()) - most_used.begin();
  });
  return options;
}

/// If a command takes only one section, its options are the command's own.
std::string group_of(const OptionInfo& option, const std::vector<std::string>& sections) {
  if (sections.size() == 1) return "Options";
  return std::ranges::count(most_used, option.key()) > 0 ? most_used_group : config_groups + option.section;
}

/// "0.1", "gpt", "data/mine.txt": a config value as one would type it.
std::string as_given(const nlohmann::ordered_json& value) {
  if (value.is_array() && value.size() == 1 && value[0].is_string()) return value[0].get<std::string>();
  if (value.is_array() && !value.empty() && value[0].is_object())
    return std::to_string(value.size()) + " (see chargpt inspect)";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Whether a file is a config, by its name and content.
bool is_config(const std::string& path) try {
  return path.ends_with(".json") && is_there(path) && !load_config(path).given.empty();
} catch (const Error&) {
  return false;
}

/// Throws Error usage for a name that is not UTF-8, and for a config after another text: it would be trained on.
void check_texts(const std::vector<std::string>& texts) {
  if (texts.size() > 1 && is_config(texts.back()))
    throw Error(ExitCode::usage, printable(texts.back()),
                " is a config, but all words after --text are texts; put it before the options");
  for (const std::string& text : texts)
    if (!is_utf8(text))
      throw Error(ExitCode::usage, "--text ", printable(text), ": the file's name is not UTF-8; rename it");
}

}  // namespace

/// Shows the program's defaults as "(default 4)" and the values of a config as "(value 6)".
void ConfigArguments::show_defaults_of(const ResolvedConfig& config) const {
  const nlohmann::ordered_json values = to_json(config.config);
  const auto show = [&config](Option& option, const nlohmann::ordered_json& value) {
    config.origin.empty() ? option.default_text(as_given(value))
                          : option.default_text("").help(option.text().help + " (value " + as_given(value) + ")");
  };
  for (const auto& flag : flags_) show(*flag->option, values.at(flag->info.section).at(flag->info.name));
}

void ConfigArguments::help_shows(Options& options, const Option& positional, const std::string& otherwise) {
  const auto defaults = [this, &positional, otherwise]() -> std::string {
    const std::string what = positional.given() ? positional.values().front() : otherwise;
    const std::string name = positional.name(), others = "; with a " + name + " before --help, its values";
    if (what.empty()) return "Below: the program's defaults" + others;
    try {
      const bool of_run = name == "RUN" || (name != "CONFIG" && is_run_or_checkpoint(what));
      show_defaults_of(of_run ? load_checkpoint(run_meant(what), "last").config
                              : load_config(config_or_run_meant(what)));
      return "Below: the values of " + what + (positional.given() ? "" : ", used if no " + name + " is given" + others);
    } catch (const Error& error) {
      return "Below: the program's defaults, since " + std::string(error.what());
    }
  };
  options.set_help_defaults(defaults);
}

void ConfigArguments::add(Options& options, const std::vector<std::string>& sections) {
  for (const OptionInfo& option : options_of(sections)) {
    const std::string flag = "--" + option.name, group = group_of(option, sections);
    std::string help = option.help;
    if (!option.range.empty()) help += " [" + option.range + "]";
    flags_.push_back(std::make_unique<Flag>(Flag{option}));
    flags_.back()->option = &options.add(flag, flags_.back()->values, help).value_name("VALUE").group(group);
    if (option.key() == "data.text") flags_.back()->option->takes_words().value_name("FILE");
  }
  options.add("--set", assignments_, "any option of the config: --set train.learning_rate=1e-3")
      .value_name("KEY=VALUE")
      .group(sections.size() > 1 ? most_used_group : "Options");
  show_defaults_of({});
}

std::vector<Override> ConfigArguments::overrides() const {
  std::vector<Override> overrides;
  for (const std::string& assignment : assignments_) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ExitCode::usage, "--set ", assignment, " is not KEY=VALUE; for example --set train.max_iters=500");
    overrides.push_back({assignment.substr(0, equals), assignment.substr(equals + 1), "--set"});
  }
  for (const auto& flag : flags_) {
    const bool is_text = flag->info.key() == "data.text";
    if (is_text) check_texts(flag->values);
    if (is_text ? !flag->values.empty() : flag->values.size() > 1 && flag->info.schema().contains("anyOf"))
      overrides.push_back({flag->info.key(), nlohmann::json(flag->values).dump(), flag->option->name()});
    else
      for (const std::string& value : flag->values)
        overrides.push_back({flag->info.key(), value, flag->option->name()});
  }
  return overrides;
}

void check_model(const ResolvedConfig& config, bool refuses_unused) {
  try {
    check_model_config(config.config.model);
    if (refuses_unused) refuse_unused(config);
  } catch (const Error& error) {
    throw with_origin(error, config);
  }
}

void add_context_option(Options& options, Context& context) {
  options.choice(
      "--context", context,
      "what to do once the text outgrows block_size: full, run the last block_size characters again for each new one, "
      "as nanoGPT does; half, drop the first half of a full window and run the rest again, many times faster; "
      "slide, run nothing again (models with position rope or none); auto, slide if the model can, else half (full "
      "where block_size is under 32)");
}

void add_counts_option(Options& options, bool& counts) {
  options.flag("--counts", counts, "mix the network with counts of what follows each context in its training text");
}

void add_unknown_option(Options& options, UnknownPolicy& policy, const std::string& which) {
  options.choice("--unknown", policy, "what to do with " + which + " that are not in the model's vocabulary");
}

}  // namespace chargpt
