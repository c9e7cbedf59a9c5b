#include "cli/version.h"

#include <torch/types.h>

#include "compute/device.h"

namespace chargpt {

std::string program_version() {
  return CHARGPT_VERSION " (" CHARGPT_GIT_REVISION ")";
}

std::string version_text() {
  return "chargpt " + program_version() + "\nLibTorch " + libtorch_version() + "\nCUDA " +
         (at::hasCUDA() ? "yes" : "no") + "\nCPU capability " + cpu_capability() + "\n";
}

}  // namespace chargpt
