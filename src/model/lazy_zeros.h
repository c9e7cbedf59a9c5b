// Zeros for tables that are mostly never touched. Knows no model.
#pragma once

#include <torch/types.h>

namespace chargpt {

/// Float32 zeros on `device`; on the CPU, pages take up memory only when they are first written.
torch::Tensor lazy_zeros(torch::IntArrayRef shape, const torch::Device& device = torch::kCPU);

}  // namespace chargpt
