// The clock that never jumps.
#pragma once

#include <chrono>

namespace chargpt {

/// Now, in seconds since some moment.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace chargpt
