// Muon: momentum, then the nearest orthogonal matrix as the step, so that every direction of a matrix learns at one
// rate. Source: Jordan et al. (2024), "Muon: an optimizer for hidden layers in neural networks".
#pragma once

#include "optimizer/optimizer.h"

namespace chargpt {

/// One update of every matrix of the group, each of a stack by itself:
/// b = m b + (1 - m) g; u = (1 - m) g + m b; w -= rate * weight_decay * w + rate * sqrt(max(1, rows / cols)) * O(u),
/// with m the group's momentum and O as optimizer/orthogonal.h has it. Each thread takes whole matrices: the same bits
/// for any number of threads.
void muon(ParameterGroup& group, std::int64_t step, const UpdateContext& context);

/// Rows of each matrix of the slot, and what the rate of its updates is multiplied by.
std::int64_t rows_of(const ParameterSlot& slot);
double rate_of_shape(const ParameterSlot& slot);

}  // namespace chargpt
