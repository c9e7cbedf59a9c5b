// SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask a training run to drop what it is doing and save; a second one ends the
// process at once.
#pragma once

#include <atomic>

namespace chargpt {

/// Installs the handlers (and ignores SIGPIPE and SIGXFSZ: neither a closed terminal nor a limit on file size
/// may end a run). The flag stays valid for the life of the process. Unless `quiet` the first signal is answered on
/// stderr at once, by the handler itself: work under way may take a while to notice.
const std::atomic<bool>& stop_on_signals(bool quiet = false);

/// The signal that set the flag; 0 if none did.
int stopping_signal();

}  // namespace chargpt
