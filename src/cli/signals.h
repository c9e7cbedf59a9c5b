// SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask a training run to finish its step and save; a second one ends the process at
// once.
#pragma once

#include <atomic>

namespace chargpt {

/// Installs the handlers (and ignores SIGPIPE and SIGXFSZ: neither a closed terminal nor a limit of
/// file sizes may end a run). The flag stays valid for the
/// process.
const std::atomic<bool>& stop_on_signals();

/// The signal that set the flag; 0 where none did.
int stopping_signal();

}  // namespace chargpt
