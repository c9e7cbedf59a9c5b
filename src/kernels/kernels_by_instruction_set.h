// The kernels of each instruction set; null where this build was not compiled for it. Knows no tensor and no model.
#pragma once

#include "kernels/kernels.h"

namespace chargpt::cpu {

const Kernels* kernels_v4();  ///< AVX-512
const Kernels* kernels_v3();  ///< AVX2 and FMA
const Kernels* kernels_portable();
const Bf16Kernels* bf16_kernels_avx512();  ///< AVX512_BF16

}  // namespace chargpt::cpu
