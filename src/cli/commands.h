// The table of commands, and the way from argv to a command and its exit code. A new command is one file in commands/
// and one row in commands.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace chargpt {

/// Declares the options of a command and sets the callback that runs it.
using AddOptions = void(Options& options);

struct Command {
  std::string_view name;
  std::string_view group;    ///< heading in `chargpt --help`
  std::string_view summary;  ///< one line
  std::string_view example;  ///< one command line that works
  AddOptions* add;
};

std::span<const Command> commands();
/// Throws Error usage, suggesting the nearest name, if there is no such command.
const Command& find_command(const std::string& name);
/// Makes the options of a command.
std::unique_ptr<Options> options_of(const Command& command);

AddOptions add_train, add_resume, add_reproduce, add_compare, add_bench, add_doctor, add_sample, add_export, add_import,
    add_eval, add_configs, add_inspect, add_runs, add_page, add_score, add_explain, add_audit, add_attention, add_watch,
    add_completions;

/// Implements `chargpt complete WORD…`: prints candidates for the last word, one per line, with a tab and the meaning
/// if there is one. Prints nothing if the word is a file or free text.
void print_candidates(const std::vector<std::string>& words);

/// Parses the arguments, runs the command, catches exceptions. Returns the exit code (README.md, "Exit codes").
int run_command_line(int argc, char** argv);

}  // namespace chargpt
