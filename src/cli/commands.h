// The table of commands. A new command is one file in this folder and one row in commands.cpp.
#pragma once

#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace chargpt {

struct Command {
  std::string_view name;
  std::string_view group;    ///< heading in `chargpt --help`
  std::string_view summary;  ///< one line
  std::string_view example;  ///< one command line that works
  /// Declares the options and sets the callback that runs the command.
  void (*add)(CLI::App& app);
};

std::span<const Command> commands();

void add_train(CLI::App& app);
void add_resume(CLI::App& app);
void add_sample(CLI::App& app);
void add_eval(CLI::App& app);
void add_compare(CLI::App& app);
void add_tune(CLI::App& app);
void add_configs(CLI::App& app);
void add_inspect(CLI::App& app);
void add_runs(CLI::App& app);
void add_bench(CLI::App& app);
void add_doctor(CLI::App& app);

}  // namespace chargpt
