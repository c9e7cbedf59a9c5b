// The kernels for x86-64-v3, compiled with its flags where the compiler has them.
#include "kernels/kernels_by_instruction_set.h"

#if defined(__AVX2__)
#include "kernels/compiled_kernels.h"

const chargpt::cpu::Kernels* chargpt::cpu::kernels_v3() {
  static constexpr Kernels all = compiled_kernels("x86-64-v3");
  return &all;
}
#else
const chargpt::cpu::Kernels* chargpt::cpu::kernels_v3() {
  return nullptr;
}
#endif
