#include "cli/arguments.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"
#include "report/color.h"
#include "report/log.h"

namespace chargpt {

void add_output_arguments(CLI::App& app, OutputArguments& output, bool with_json) {
  app.add_flag("--quiet", output.quiet, "only errors on stderr")->group("Output");
  app.add_flag("--verbose", output.verbose, "more on stderr, backtraces of internal errors too")->group("Output");
  app.add_option("--color", output.color, "colours on a terminal (NO_COLOR is honoured)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group("Output");
  if (with_json) app.add_flag("--json", output.json, "stdout is exactly one JSON document")->group("Output");
}

void start_output(const OutputArguments& output) {
  const LogLevel level = output.quiet ? LogLevel::quiet : output.verbose ? LogLevel::verbose : LogLevel::normal;
  start_log(level, choose_color(output.color, std::getenv("NO_COLOR"), isatty(STDERR_FILENO) != 0));
}

void add_device_arguments(CLI::App& app, DeviceArguments& device) {
  app.add_option("--device", device.device, "auto, cpu, cuda or cuda:N")->group("Machine");
  app.add_option("--threads", device.threads, "CPU threads; 0: one per physical core")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{4096}))
      ->group("Machine");
}

void ConfigArguments::add(CLI::App& app, const std::vector<std::string>& sections) {
  app.add_option("--set", assignments_, "any option of the config: --set train.learning_rate=1e-3")
      ->take_all()
      ->expected(1)
      ->type_name("KEY=VALUE")
      ->group("Config");
  for (const OptionInfo& option : option_table()) {
    if (std::find(sections.begin(), sections.end(), option.section) == sections.end()) continue;
    const std::string flag = "--" + option.name;
    std::string help = option.help;
    if (!option.range.empty()) help += " [" + option.range + "]";
    if (!option.default_value.empty()) help += " (default " + option.default_value + ")";
    if (option.section == "data" && option.name == "text") {
      app.add_option(flag, texts_, help + "; may be repeated")
          ->take_all()
          ->expected(1)
          ->type_name("FILE")
          ->group("Config: data");
      continue;
    }
    flags_.push_back(std::make_unique<Flag>(Flag{option.section + "." + option.name, flag, {}}));
    app.add_option(flag, flags_.back()->values, help)
        ->take_all()
        ->expected(1)
        ->type_name("VALUE")
        ->group("Config: " + option.section);
  }
}

std::vector<Override> ConfigArguments::overrides() const {
  std::vector<Override> overrides;
  for (const std::string& assignment : assignments_) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ExitCode::usage, "--set " + assignment + " is not KEY=VALUE; for example --set train.max_iters=500");
    overrides.push_back({assignment.substr(0, equals), assignment.substr(equals + 1), "--set"});
  }
  for (const std::string& text : texts_)
    if (!is_utf8(text))
      throw Error(ExitCode::usage, "--text " + printable(text) + ": the file's name is not UTF-8; rename it");
  if (!texts_.empty()) overrides.push_back({"data.text", nlohmann::json(texts_).dump(), "--text"});
  for (const auto& flag : flags_)
    for (const std::string& value : flag->values) overrides.push_back({flag->key, value, flag->flag});
  return overrides;
}

}  // namespace chargpt
