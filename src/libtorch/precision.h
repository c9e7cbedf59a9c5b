// The arithmetic of matrix products while it is in scope: float32, TF32 on CUDA, or bfloat16 by autocast. Weights stay
// float32.
#pragma once

#include <torch/types.h>

#include "config/config.h"

namespace chargpt {

/// Sets the arithmetic and puts the former one back at the end of the scope. On the CPU tf32 is float32.
class PrecisionScope {
 public:
  PrecisionScope(const torch::Device& device, Dtype dtype);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  torch::DeviceType device_;
  bool tf32_before_, autocast_before_, cache_before_;
  torch::ScalarType autocast_dtype_before_;
};

}  // namespace chargpt
