#include "cli/command_line.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/heartbeat.h"
#include "base/names.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/help_text.h"
#include "cli/options.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "cli/training_half.h"
#include "cli/version.h"
#include "report/log.h"

namespace chargpt {

namespace {

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  const auto nearest = nearest_name(name, names);
  throw Error(ExitCode::usage, "unknown command '" + name + "'" +
                                   (nearest ? "; did you mean " + *nearest + "?" : "; chargpt --help lists them"));
}

/// Declares a command's options; if the other half has the command, that half takes over this process.
auto adder_of(const Command& command) -> void (*)(Options&) {
  if (command.add != nullptr) return command.add;
  if (const TrainingHalf* const half = training_half())
    for (const TrainingHalf::CommandOptions& other : half->commands)
      if (other.name == command.name) return other.add;
  continue_in_training_half();
}

std::string overview() {
  std::string text =
      "chargpt: train, sample and compare character-level language models\n\nUsage: chargpt COMMAND [ARGS]\n";
  std::string_view group;
  for (const Command& command : commands()) {
    if (command.group != group) text += "\n" + std::string(command.group) + "\n";
    group = command.group;
    std::string name(command.name);
    name.resize(10, ' ');
    text += "  " + name + std::string(command.summary) + "\n";
  }
  return text +
         "\nchargpt COMMAND --help   every option of a command\nchargpt --version        version, and the LibTorch it "
         "was built with\n\n"
         "First steps: chargpt train, then chargpt sample runs/default-1\n";
}

void write_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw Error(ExitCode::usage, "no command given; chargpt --help lists them");
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") return write_out(overview());
  if (arguments[0] == "--version") return write_out(version_text());
  const Command& command = find_command(arguments[0]);
  Options options{std::string(command.name)};
  adder_of(command)(options);
  if (options.parse({arguments.begin() + 1, arguments.end()})) return options.run();
  write_out(help_text(options, std::string(command.summary), std::string(command.example)));
}

}  // namespace

int run_command_line(int argc, char** argv) {
  end_with_parent();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool verbose = std::find(arguments.begin(), arguments.end(), "--verbose") != arguments.end();
  try {
    run(arguments);
    return finish_output();
  } catch (const Stopped& stopped) {
    return 128 + stopped.signal;
  } catch (const Interrupted&) {
    log_note("stopped before anything began; nothing was changed");
    return 128 + stopping_signal();
  } catch (const std::exception& error) {
    return report_failure(error, verbose);
  }
}

}  // namespace chargpt
