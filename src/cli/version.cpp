#include "cli/version.h"

#include <cstdlib>

#include "engine/torch_module.h"
#include "kernels/processor.h"

namespace chargpt {

std::string program_version() {
  return CHARGPT_VERSION " (" CHARGPT_GIT_REVISION ")";
}

std::string version_text() {
  settle_cpu_capability();
  const char* const limit = std::getenv("ATEN_CPU_CAPABILITY");
  return "chargpt " + program_version() + "\nLibTorch " + libtorch_version() + "\nCUDA " +
         (has_torch_module() ? CHARGPT_LIBTORCH_CUDA : "no") + "\nCPU capability " + kernels_capability() +
         (limit == nullptr ? "" : " (ATEN_CPU_CAPABILITY = " + std::string(limit) + ")") + "\n";
}

}  // namespace chargpt
