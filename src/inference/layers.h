// Steps of a layer that both forward passes take (forward.h, cached_forward.h). Knows no weight's place, no batch and
// no thread.
#pragma once

#include "inference/plan.h"
#include "kernels/kernels.h"

namespace chargpt::cpu {

/// begin to end - 1: columns of a matrix.
struct Range {
  long begin, end;
  long width() const { return end - begin; }
};

/// y (rows, columns) = bias, or += where `add`; nothing where it is null. Returns whether a matmul is to add to y.
bool put_bias(const Kernels& kernels, const float* bias, Range columns, long rows, float* y, long ldy, bool add);

/// qkv (rows, 3 A) of a model that projects nothing: x itself as value, and as query and key, or zeros there.
void copy_to_qkv(const Plan& plan, const Kernels& kernels, long rows, const float* x, long ldx, float* qkv);

/// hidden = f(fc), or fc times the gate's: all (rows, mlp_width), fc and gate used up.
void activate(const Plan& plan, const Kernels& kernels, long rows, float* fc, float* gate, float* hidden);

}  // namespace chargpt::cpu
