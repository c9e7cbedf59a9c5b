// Adam without momentum for tables: only rows that a batch touched are read or written, so that a step costs the same
// however large the table is.
#pragma once

#include "optimizer/optimizer.h"

namespace chargpt {

/// One update of the rows in group.table->gradient, g being the sum over a row's occurrences:
/// v = beta2 v + (1 - beta2) g^2; w -= rate * weight_decay * w + rate * sqrt(1 - beta2^step) * g / (sqrt(v) + eps).
/// The gradient is not clipped: a table's rows know nothing of each other, and the second moment sets their scale.
/// On the CPU the same bits for any number of threads.
void sparse_adam(ParameterGroup& group, std::int64_t step, const UpdateContext& context);

/// The same by the library's operations, on any device: what CUDA runs, and what tests compare with.
void sparse_adam_by_operations(ParameterGroup& group, std::int64_t step, const UpdateContext& context);

}  // namespace chargpt
