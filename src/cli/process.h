// Facts about this process.
#pragma once

namespace chargpt {

/// When this process began, in seconds of the steady clock; 0 where the system does not tell.
double process_start_seconds();

}  // namespace chargpt
