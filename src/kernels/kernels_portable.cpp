// The kernels in what every processor of the target has: SSE2 of an x86-64, NEON of an aarch64.
#include "kernels/compiled_kernels.h"
#include "kernels/kernels_by_instruction_set.h"

const chargpt::cpu::Kernels* chargpt::cpu::kernels_portable() {
#if defined(__aarch64__)
  static constexpr Kernels all = compiled_kernels("neon");
#else
  static constexpr Kernels all = compiled_kernels("portable");
#endif
  return &all;
}
