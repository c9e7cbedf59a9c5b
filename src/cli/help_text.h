// The texts of `chargpt COMMAND --help` and `-h`, wrapped to the terminal. Knows no command.
#pragma once

#include <string>

#include "cli/options.h"

namespace chargpt {

/// Groups of options whose names start like this come at the end of the text.
inline const std::string config_groups = "Config: ";

struct HelpText {
  std::string summary;  ///< what the command does
  std::string example;  ///< a command line that works
};

/// Of --help: every option with its meaning, range and default.
std::string full_help(const Options& options, const HelpText& help);
/// Of -h: a screen with the example, the arguments, and the options by name.
std::string short_help(const Options& options, const HelpText& help);

}  // namespace chargpt
