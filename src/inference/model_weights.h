// The weights of a model as its passes read them: values where they lie, and the matrices of all linear layers in
// panels, as kernels.h has them. Knows no thread and no update.
#pragma once

#include <vector>

#include "inference/plan.h"
#include "kernels/buffers.h"

namespace chargpt::cpu {

struct ModelWeights {
  std::vector<const float*> values;  ///< by group
  AlignedFloats packed{};            ///< Plan::packed_floats
};

/// Part `part` of `parts` of every layer's panels, so that several threads may pack at the same time: W^T, and W too
/// where the plan has room for what backward reads. In bfloat16 for these kernels; null: in float32.
void pack_weights(const Plan& plan, const ModelWeights& weights, const Bf16Kernels* bf16, int part, int parts);

}  // namespace chargpt::cpu
