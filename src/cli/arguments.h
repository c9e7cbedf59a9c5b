// Options that several commands share, declared once.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/load.h"

namespace chargpt {

struct OutputArguments {
  bool quiet = false, verbose = false, json = false;
  std::string color = "auto";
};
/// --quiet --verbose --color; --json too where a command reports figures.
void add_output_arguments(CLI::App& app, OutputArguments& output, bool with_json);
/// Level and colour of all lines on stderr from here on.
void start_output(const OutputArguments& output);

/// Runs the command once its arguments are parsed.
template <class Arguments>
void on_parsed(CLI::App& app, std::shared_ptr<Arguments> arguments, void (*run)(const Arguments&)) {
  app.callback([arguments, run] {
    start_output(arguments->output);
    run(*arguments);
  });
}

struct DeviceArguments {
  std::string device = "auto";
  std::int64_t threads = 0;  ///< 0: one per physical core
};
void add_device_arguments(CLI::App& app, DeviceArguments& device);

/// --set KEY=VALUE and one flag per option of `sections`, each named as its key; --text may be given several times.
/// Values are collected as they stand and checked by the config room.
class ConfigArguments {
 public:
  void add(CLI::App& app, const std::vector<std::string>& sections);
  /// In the order: --set, then the flags.
  std::vector<Override> overrides() const;

 private:
  struct Flag {
    std::string key, flag;
    std::vector<std::string> values;
  };
  std::vector<std::string> assignments_;
  std::vector<std::string> texts_;
  std::vector<std::unique_ptr<Flag>> flags_;
};

}  // namespace chargpt
