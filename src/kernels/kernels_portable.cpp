// The kernels in what every processor of the target has: SSE2 of an x86-64, NEON of an aarch64.
#include "kernels/compiled_kernels.h"

#if defined(__aarch64__)
static constexpr chargpt::cpu::Kernels compiled = chargpt::cpu::compiled_kernels("neon");
#else
static constexpr chargpt::cpu::Kernels compiled = chargpt::cpu::compiled_kernels("portable");
#endif
const chargpt::cpu::Kernels* const chargpt::cpu::kernels_portable = &compiled;
