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

struct Command {
  std::string_view name;
  std::string_view group;    ///< heading in `chargpt --help`
  std::string_view summary;  ///< one line
  std::string_view example;  ///< one command line that works
  /// Declares the options and sets the callback that runs the command.
  void (*add)(Options& options);
};

std::span<const Command> commands();
/// Throws Error usage, suggesting the nearest name, if there is no such command.
const Command& find_command(const std::string& name);
/// Makes the options of a command.
std::unique_ptr<Options> options_of(const Command& command);

void add_train(Options& options);
void add_resume(Options& options);
void add_reproduce(Options& options);
void add_compare(Options& options);
void add_bench(Options& options);
void add_doctor(Options& options);
void add_sample(Options& options);
void add_export(Options& options);
void add_import(Options& options);
void add_eval(Options& options);
void add_configs(Options& options);
void add_inspect(Options& options);
void add_runs(Options& options);
void add_page(Options& options);
void add_score(Options& options);
void add_explain(Options& options);
void add_audit(Options& options);
void add_attention(Options& options);
void add_watch(Options& options);
void add_completions(Options& options);
/// Implements `chargpt complete WORD…`: prints candidates for the last word, one per line, with a tab and the meaning
/// if there is one. Prints nothing if the word is a file or free text.
void print_candidates(const std::vector<std::string>& words);

/// Parses the arguments, runs the command, catches exceptions. Returns the exit code (README.md, "Exit codes").
int run_command_line(int argc, char** argv);

}  // namespace chargpt
