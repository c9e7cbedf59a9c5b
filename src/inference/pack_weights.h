// The matrices of all linear layers in the order in which matmuls read them: panels, as kernels.h has them. Knows no
// thread and no update.
#pragma once

#include <vector>

#include "inference/plan.h"

namespace chargpt::cpu {

/// What the panels hold.
enum class PackedType {
  float32,
  bf16_storage,  ///< bfloat16 for Kernels::matvec_bf16 and panel_from_bf16, arithmetic in float32; Packing::forward
                 ///< alone
  bf16_matmul    ///< bfloat16 for Bf16Kernels, which must be there
};

/// Part `part` of `parts` of every layer's panels, so that several threads may pack at the same time, into `packed`,
/// where the plan has its place: W^T, and W too where the plan has room for what backward reads.
void pack_weights(const Plan& plan, const std::vector<const float*>& values, PackedType type, const Kernels& kernels,
                  int part, int parts, float* packed);

/// Bf16 numbers of one panel of bf16_storage, (in, panel_width) with `in` rounded up to whole pairs.
long bf16_panel_size(long in, const Kernels& kernels);

}  // namespace chargpt::cpu
