// SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGXCPU (the soft limit of CPU time) ask a training run to drop what it is doing
// and save; a second one ends the process at once.
#pragma once

#include <atomic>

namespace chargpt {

/// For every command: a limit on file size (ulimit -f) is then an error of write(), EFBIG, in place of a signal that
/// ends the process between a temporary file and its name.
void ignore_file_size_signal();

/// Installs the handlers, and ignores SIGPIPE: a closed terminal may not end a run. The flag stays valid for the life
/// of the process. Unless `quiet` the first signal is answered on stderr at once, by the handler itself: work under way
/// may take a while to notice.
const std::atomic<bool>& stop_on_signals(bool quiet = false);

/// The signal that set the flag; 0 if none did.
int stopping_signal();

}  // namespace chargpt
