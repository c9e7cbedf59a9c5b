// This process: its terminal, its beginning, and what asks it to stop.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

namespace chargpt {

/// Of the terminal behind the descriptor; 0 if it is not a terminal.
struct TerminalSize {
  std::size_t columns = 0, rows = 0;
};
TerminalSize terminal_size(int descriptor);
std::size_t terminal_columns(int descriptor);

/// Whether a line there can be painted over: a terminal, and none that says it cannot (TERM=dumb).
bool repaints(int descriptor);
/// The columns of such a terminal, 80 if it does not say; else 0.
std::size_t repainted_columns(int descriptor);

/// Whether output there is coloured: by the value of --color, the environment and the terminal; see choose_color.
bool uses_color(const std::string& flag, int descriptor);

/// When this process began, in seconds of the steady clock, to a hundredth; 0 if the system does not say. A script that
/// becomes this program (exec) after work of its own says when it did, in seconds since 1970, in the environment
/// variable CHARGPT_LAUNCHED, so that the script's time is not counted as this process's.
double process_start_seconds();

/// For a child (CHARGPT_PARENT): SIGTERM (finish the step, save) when the parent that started it ends, however that
/// ends. Where it has already ended, a line and SIGTERM at once. A value that is no process id is ignored.
void end_with_parent();

/// From here on SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGXCPU (the soft limit of CPU time) set a flag, which asks a
/// training run to drop what it is doing and save; a second one ends the process at once. SIGPIPE is ignored: a closed
/// terminal may not end a run. Unless `quiet` the first signal is answered on stderr at once, by the handler itself:
/// work under way may take a while to notice.
const std::atomic<bool>& stop_on_signals(bool quiet = false);

/// The signal that set the flag; 0 if none did.
int stopping_signal();

}  // namespace chargpt
