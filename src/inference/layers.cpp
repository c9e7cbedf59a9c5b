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

void copy_to_qkv(const Plan& plan, const Kernels& kernels, Range columns, long rows, const float* x, long ldx,
                 float* qkv) {
  const long A = plan.attention_width, ld = row_stride(3 * A), width = columns.width();
  x += columns.begin;
  float* const q = qkv + columns.begin;
  for (float* const to : {q, q + A})
    if (plan.qkv_source == QkvSource::uniform)
      kernels.broadcast_row(rows, width, nullptr, to, ld);
    else
      kernels.copy(rows, width, x, ldx, to, ld);
  kernels.copy(rows, width, x, ldx, q + 2 * A, ld);
}

void activate(const Plan& plan, const Kernels& kernels, Range columns, long rows, float* fc, float* gate,
              float* hidden) {
  const long ld = row_stride(plan.mlp_width), width = columns.width();
  fc += columns.begin;
  hidden += columns.begin;
  if (plan.swiglu)
    kernels.swiglu(rows, width, fc, gate + columns.begin, ld, hidden, ld);
  else
    kernels.activation(plan.activation, rows, width, fc, ld, hidden, ld);
}

}  // namespace chargpt::cpu
