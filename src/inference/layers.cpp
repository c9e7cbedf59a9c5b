#include "inference/layers.h"

#include "kernels/buffers.h"

namespace chargpt::cpu {

bool put_bias(const Kernels& kernels, const float* bias, Range columns, long rows, float* y, long ldy, bool add) {
  if (bias == nullptr) return add;
  if (add)
    kernels.add(rows, columns.width(), bias + columns.begin, 0, y + columns.begin, ldy);
  else
    kernels.broadcast_row(rows, columns.width(), bias + columns.begin, y + columns.begin, ldy);
  return true;
}

void copy_to_qkv(const Plan& plan, const Kernels& kernels, long rows, const float* x, long ldx, float* qkv) {
  const long A = plan.attention_width, ld = row_stride(3 * A);
  for (float* const to : {qkv, qkv + A})
    if (plan.qkv_source == QkvSource::uniform)
      kernels.broadcast_row(rows, A, nullptr, to, ld);
    else
      kernels.copy(rows, A, x, ldx, to, ld);
  kernels.copy(rows, A, x, ldx, qkv + 2 * A, ld);
}

void activate(const Plan& plan, const Kernels& kernels, long rows, float* fc, float* gate, float* hidden) {
  const long width = plan.mlp_width, ld = row_stride(width);
  if (plan.swiglu)
    kernels.swiglu(rows, width, fc, gate, ld, hidden, ld);
  else
    kernels.activation(plan.activation, rows, width, fc, ld, hidden, ld);
}

}  // namespace chargpt::cpu
