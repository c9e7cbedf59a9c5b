// [cuda] cases are registered where there is a GPU; elsewhere a line says that they are not.
#pragma once

#include <cstdio>

#include "engine/device.h"
#include "test.h"

namespace chargpt {

/// Whether there is a GPU; where not, says once that the cases are skipped.
inline bool cuda_is_there() {
  static const bool is_there = [] {
    if (cuda_device_count() == 0) std::fputs("[cuda] cases skipped: no CUDA device\n", stderr);
    return cuda_device_count() > 0;
  }();
  return is_there;
}

}  // namespace chargpt

#define CUDA_CASE(function, name, tags)                           \
  static void function();                                         \
  [[maybe_unused]] static const bool function##_registered = [] { \
    if (!chargpt::cuda_is_there()) return false;                  \
    REGISTER_TEST_CASE(function, name, tags);                     \
    return true;                                                  \
  }();                                                            \
  static void function()
