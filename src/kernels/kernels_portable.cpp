// The kernels in what every processor of the target has.
#include "kernels/compiled_kernels.h"
#include "kernels/kernels_by_instruction_set.h"

const chargpt::cpu::Kernels* chargpt::cpu::kernels_portable() {
  static constexpr Kernels all = compiled_kernels("portable");
  return &all;
}
