// Facts about this process and its terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"

namespace chargpt {

/// Of the terminal behind the descriptor; 0 if it is not a terminal.
struct TerminalSize {
  std::size_t columns = 0, rows = 0;
};
TerminalSize terminal_size(int descriptor);

/// Columns of the terminal behind the descriptor; 0 if it is not a terminal.
std::size_t terminal_columns(int descriptor);

/// Whether a line there can be painted over: a terminal, and none that says it cannot (TERM=dumb).
bool repaints(int descriptor);

/// Whether output there is coloured: by the value of --color, the environment and the terminal; see choose_color.
bool uses_color(const std::string& flag, int descriptor);

/// Whether this process's locale is one of UTF-8.
bool shows_utf8();

/// When this process began, in seconds of the steady clock, to a hundredth; 0 if the system does not say. A script that
/// becomes this program (exec) after work of its own says when it did, in seconds since 1970, in the environment
/// variable CHARGPT_LAUNCHED, so that the script's time is not counted as this process's.
double process_start_seconds();

/// For a child (CHARGPT_PARENT): SIGTERM (finish the step, save) when the parent that started it ends, however that
/// ends. Where it has already ended, a line and SIGTERM at once. A value that is no process id is ignored.
void end_with_parent();

/// What is wrong with the working folder, which libraries ask for and then end the process with a line of their own:
/// Error missing where it has been removed, io where its path is too long to be told; else none.
std::optional<Error> working_folder_error();

}  // namespace chargpt
