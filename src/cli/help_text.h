// The texts of `chargpt COMMAND --help` and `-h`, wrapped to the terminal. Independent of commands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace chargpt {

/// Option groups whose names start with this come last in the text.
inline const std::string config_groups = "Config: ";
/// The group of options that every command has.
inline const std::string output_group = "Output";

/// Columns of the terminal on stdout, from 60 to 120; 100 if stdout is not a terminal.
std::size_t help_width();
// `summary`: what the command does; `example`: a command line that works.

/// The text of --help: every option with its meaning, range and default.
std::string full_help(const Options& options, std::string_view summary, std::string_view example);
/// The text of -h: the example, the arguments, and a short line for each of the first dozen options.
std::string short_help(const Options& options, std::string_view summary, std::string_view example);

}  // namespace chargpt
