// The text of `chargpt COMMAND --help`, wrapped to the terminal. Knows no command.
#pragma once

#include <string>

#include "cli/options.h"

namespace chargpt {

/// Groups of options whose names start like this come at the end of the text.
inline const std::string config_groups = "Config: ";

/// `summary`: what the command does; `example`: a command line that works.
std::string help_text(const Options& options, const std::string& summary, const std::string& example);

}  // namespace chargpt
