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
/// --quiet --verbose --color; also --json, with the help text `json`, unless that is null.
void add_output_arguments(Options& options, OutputArguments& output,
                          const char* json = "stdout is exactly one JSON document");
/// Sets level and colour of all later lines on stderr.
void start_output(const OutputArguments& output);

class Report;
/// On standard output: the document, or what people read, wrapped on a terminal. Throws AnsweredNo where the report's
/// answer is no.
void print_report(const Report& report, const OutputArguments& output);

/// What the options of a command are bound to, for as long as `options` live; `run` gets it once they are parsed, and
/// what it reports is printed.
template <class Arguments, class Result>
Arguments& arguments_for(Options& options, Result (*run)(const Arguments&)) {
  const auto arguments = std::make_shared<Arguments>();
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

/// Error usage, with the file and line that set it, if options of the model do not fit together, or one has no effect
/// (unless `refuses_unused` is false).
void check_model(const ResolvedConfig& config, bool refuses_unused = true);

/// --set KEY=VALUE and one flag per option of `sections`, each named as its key; --text takes several words and may be
/// repeated. Values are collected as given and checked by config/.
class ConfigArguments {
 public:
  void add(Options& options, const std::vector<std::string>& sections);
  /// --help shows the values that the command would run with: those of load(WHAT), WHAT the first argument given for
  /// `positional`, or `otherwise`; empty: the program's defaults. Without `load`: those of the config of that name.
  void help_shows(Options& options, const Option& positional, const std::string& otherwise,
                  std::function<ResolvedConfig(const std::string& what)> load = {});
  /// In the order: --set, then the flags.
  std::vector<Override> overrides() const;

 private:
  struct Flag {
    OptionInfo info;
    std::vector<std::string> values = {};  ///< of a list, one each time it is given
    Option* option = nullptr;
  };
  void show_defaults_of(const ResolvedConfig& config) const;
  std::vector<std::string> assignments_;
  std::vector<std::string> texts_;
  Option* text_option_ = nullptr;
  std::vector<std::unique_ptr<Flag>> flags_;
};

template <>
struct EnumNames<Context> {
  static constexpr std::string_view names[] = {"auto", "full", "half", "slide"};
};
void add_context_option(Options& options, Context& context);
void add_counts_option(Options& options, bool& counts);
/// --unknown: error, skip or replace; `which` characters.
void add_unknown_option(Options& options, UnknownPolicy& policy, const std::string& which);

}  // namespace chargpt
