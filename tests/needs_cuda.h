// [cuda] cases are registered where there is a GPU; elsewhere a line says that they are not.
#pragma once

#include <cstdio>

#include "engine/device.h"

namespace chargpt {

/// Whether there is a GPU; where not, says that the cases are skipped.
inline bool cuda_is_there() {
  if (cuda_device_count() > 0) return true;
  std::fputs("[cuda] cases skipped: no CUDA device\n", stderr);
  return false;
}

}  // namespace chargpt
