// The kernels for x86-64-v3, compiled with its flags if the compiler supports them.
#include "kernels/kernels.h"

#if defined(__AVX2__)
#include "kernels/compiled_kernels.h"

static constexpr chargpt::cpu::Kernels compiled = chargpt::cpu::compiled_kernels("x86-64-v3");
const chargpt::cpu::Kernels* const chargpt::cpu::kernels_v3 = &compiled;
#else
const chargpt::cpu::Kernels* const chargpt::cpu::kernels_v3 = nullptr;
#endif
