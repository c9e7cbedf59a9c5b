#include "cli/version.h"

#include <cstdlib>

#include "kernels/processor.h"

namespace chargpt {

namespace {

std::string capability_limit() {
  const char* const limit = std::getenv("ATEN_CPU_CAPABILITY");
  return limit == nullptr ? "" : " (ATEN_CPU_CAPABILITY = " + std::string(limit) + ")";
}

}  // namespace

std::string program_version() {
  return CHARGPT_VERSION " (" CHARGPT_GIT_REVISION ")";
}

std::string libtorch_version_built_with() {
  return CHARGPT_LIBTORCH_VERSION;
}

std::uintmax_t libtorch_bytes() {
  return CHARGPT_LIBTORCH_BYTES;
}

std::string version_text() {
  settle_cpu_capability();
  return "chargpt " + program_version() +
         "\nLibTorch " CHARGPT_LIBTORCH_VERSION "\nCUDA " CHARGPT_LIBTORCH_CUDA "\nCPU capability " +
         kernels_capability() + capability_limit() + "\n";
}

}  // namespace chargpt
