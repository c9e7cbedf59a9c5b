// The kernels in what every processor of the target has.
#include "compute/cpu/kernels_of.h"
#include "compute/cpu/table.h"

const chargpt::cpu::Kernels* chargpt::cpu::kernels_portable() {
  static constexpr Kernels all = table("portable");
  return &all;
}
