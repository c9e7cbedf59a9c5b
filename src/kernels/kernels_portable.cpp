// The kernels for instructions that every processor of the target has: SSE2 on x86-64, NEON on aarch64.
#include "kernels/compiled_kernels.h"

#if defined(__aarch64__)
static constexpr chargpt::cpu::Kernels compiled = chargpt::cpu::compiled_kernels("neon");
#else
static constexpr chargpt::cpu::Kernels compiled = chargpt::cpu::compiled_kernels("portable");
#endif
const chargpt::cpu::Kernels* const chargpt::cpu::kernels_portable = &compiled;
