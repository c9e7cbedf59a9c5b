// The matrices of all linear layers in the order in which matmuls read them: panels, as kernels.h has them. Knows no
// thread and no update.
#pragma once

#include <vector>

#include "inference/plan.h"

namespace chargpt::cpu {

/// What the panels hold.
enum class PackedType {
  float32,
  bf16_matmul  ///< bfloat16 for Bf16Kernels, which must be there
};

/// Part `part` of `parts` of every layer's panels, so that several threads may pack at the same time, into `packed`,
/// where the plan has its place: W^T, and W too where the plan has room for what backward reads.
void pack_weights(const Plan& plan, const std::vector<const float*>& values, PackedType type, const Kernels& kernels,
                  int part, int parts, float* packed);

}  // namespace chargpt::cpu
