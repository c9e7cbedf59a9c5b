// A clock that never jumps.
#pragma once

#include <chrono>

namespace chargpt {

/// Seconds since an arbitrary moment; only differences are meaningful.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace chargpt
