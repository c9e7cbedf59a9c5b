#include "libtorch/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

namespace chargpt {

PrecisionScope::PrecisionScope(const torch::Device& device, Dtype dtype)
    : device_(device.type()),
      tf32_before_(at::globalContext().allowTF32CuBLAS()),
      autocast_before_(at::autocast::is_autocast_enabled(device_)),
      cache_before_(at::autocast::is_autocast_cache_enabled()),
      autocast_dtype_before_(at::autocast::get_autocast_dtype(device_)) {
  at::globalContext().setAllowTF32CuBLAS(dtype == Dtype::tf32);
  at::autocast::set_autocast_enabled(device_, dtype == Dtype::bfloat16);
  at::autocast::set_autocast_dtype(device_, torch::kBFloat16);
  // A cached bfloat16 copy of a weight would outlive the update of the weight.
  at::autocast::set_autocast_cache_enabled(false);
}

PrecisionScope::~PrecisionScope() {
  at::globalContext().setAllowTF32CuBLAS(tf32_before_);
  at::autocast::set_autocast_enabled(device_, autocast_before_);
  at::autocast::set_autocast_dtype(device_, autocast_dtype_before_);
  at::autocast::set_autocast_cache_enabled(cache_before_);
}

}  // namespace chargpt
