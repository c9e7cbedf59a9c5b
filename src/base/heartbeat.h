// Long work tells how far it has come, and may be called off between its parts. Knows no signal, no clock and no work.
#pragma once

#include <functional>

namespace chargpt {

/// Called between the parts of long work, several times a second, with how much of it is done (0 to 1). Where it throws
/// the work ends there. Empty: nobody listens.
using Heartbeat = std::function<void(double part)>;

/// Thrown where work was called off from outside: nothing has gone wrong, and nothing of the work is kept. No
/// std::exception, so that nothing takes it for a failure.
struct Interrupted {};

}  // namespace chargpt
