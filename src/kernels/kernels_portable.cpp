// The kernels in what every processor of the target has.
#include "kernels/kernels_of.h"
#include "kernels/table.h"

const chargpt::cpu::Kernels* chargpt::cpu::kernels_portable() {
  static constexpr Kernels all = table("portable");
  return &all;
}
