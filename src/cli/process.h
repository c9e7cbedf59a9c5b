// This process: its version, its terminal, its start time, and the signals that stop it.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <string>

namespace chargpt {

/// The size of the descriptor's terminal; 0 if it is not a terminal.
struct TerminalSize {
  std::size_t columns = 0, rows = 0;
};
TerminalSize terminal_size(int descriptor);
std::size_t terminal_columns(int descriptor);

/// Whether lines can be repainted: the descriptor is a terminal, and TERM is not "dumb".
bool repaints(int descriptor);
/// The columns of a descriptor that repaints(), 80 if unknown; 0 for others.
std::size_t repainted_columns(int descriptor);

/// Whether to colour output to the descriptor, from --color, the environment and the terminal; see choose_color().
bool uses_color(const std::string& flag, int descriptor);

/// The time when this program was loaded, in seconds of the steady clock. Not the start of the process: a shell that
/// becomes this program (exec) may have worked for minutes before.
double program_start_seconds();

std::string program_version();  ///< "0.2.0 (7c211ea)"
/// The text of `chargpt --version`: version, git revision, LibTorch, CUDA, CPU capability. Does not load LibTorch.
std::string version_text();

/// For a child process (CHARGPT_PARENT is set): requests SIGTERM (finish the step, save) when the parent ends. If it
/// has already ended, logs an error and raises SIGTERM at once. Ignores a value that is not a process id.
void end_with_parent();

/// SIGXCPU: the soft limit of CPU time.
inline constexpr std::array stopping_signals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};

/// Makes stopping_signals set a flag that asks a training run to stop and save; a second one ends the process at once.
/// Ignores SIGPIPE: a closed terminal must not end a run. Unless `quiet`, the handler itself answers the first signal
/// on stderr, as the work may take a while to check the flag.
const std::atomic<bool>& stop_on_signals(bool quiet = false);

/// The signal that set the flag; 0 if none did.
int stopping_signal();

}  // namespace chargpt
