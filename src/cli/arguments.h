// Options that several commands share, declared once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/names.h"
#include "cli/options.h"
#include "config/describe.h"
#include "config/load.h"
#include "predict/network.h"
#include "text/vocabulary.h"

namespace chargpt {

struct OutputArguments {
  bool quiet = false, verbose = false, json = false, markdown = false;
  std::string color = "auto";
};
/// Adds --quiet, --verbose and --color, and --json with the help text `json` unless that is null.
void add_output_arguments(Options& options, OutputArguments& output, const char* json);
/// Sets which later lines appear on stderr and their colour, and the form of failures.
void start_output(const OutputArguments& output);

class Report;
/// Prints the report on standard output: the JSON document, or tables and text, wrapped on a terminal. Throws
/// AnsweredNo if the report's answer is no.
void print_report(const Report& report, const OutputArguments& output);

/// Creates the object that a command's options are bound to; it lives as long as `options`. After parsing, `run` gets
/// it and its report is printed. `json`: as in add_output_arguments().
template <class Arguments, class Result>
Arguments& arguments_for(Options& options, Result (*run)(const Arguments&),
                         const char* json = "stdout is exactly one JSON document") {
  const auto arguments = std::make_shared<Arguments>();
  add_output_arguments(options, arguments->output, json);
  options.on_parsed([&options, arguments, run] {
    start_output(arguments->output);
    options.settle();
    if constexpr (std::is_void_v<Result>)
      run(*arguments);
    else
      print_report(run(*arguments), arguments->output);
  });
  return *arguments;
}

struct DeviceArguments {
  std::string device = "auto";
  std::int64_t threads = 0;  ///< 0: one per physical core
};
void add_device_arguments(Options& options, DeviceArguments& arguments);

/// Throws Error usage, with the file and line of the option, if model options do not fit together or, unless
/// `refuses_unused` is false, an option has no effect.
void check_model(const ResolvedConfig& config, bool refuses_unused = true);

/// --set KEY=VALUE and one flag per option of `sections`, named like its key; --text takes several words and may be
/// repeated. Collects the values as given; config/ checks them.
class ConfigArguments {
 public:
  void add(Options& options, const std::vector<std::string>& sections);
  /// Makes --help show the values that the command would use: those of the config or run (its last checkpoint) that the
  /// first value of `positional` names, else of `otherwise`; if empty, the program's defaults.
  void help_shows(Options& options, const Option& positional, const std::string& otherwise);
  /// Returns the --set options, then the flags.
  std::vector<Override> overrides() const;

 private:
  struct Flag {
    OptionInfo info;
    std::vector<std::string> values = {};  ///< of a list: one for each use of the flag
    Option* option = nullptr;
  };
  void show_defaults_of(const ResolvedConfig& config) const;
  std::vector<std::string> assignments_;
  std::vector<std::unique_ptr<Flag>> flags_;
};

template <>
struct EnumNames<Context> {
  static constexpr std::string_view list = "auto, full, half, slide";
};
void add_context_option(Options& options, Context& context);
void add_counts_option(Options& options, bool& counts);
/// Adds --unknown (error, skip or replace); `which`: the affected characters, for the help.
void add_unknown_option(Options& options, UnknownPolicy& policy, const std::string& which);

}  // namespace chargpt
