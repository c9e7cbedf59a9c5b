// Layer and RMS normalisation of rows x (C), forward and backward:
//
//   layernorm  y = (x - mean(x)) rstd gain + bias,  rstd = 1 / sqrt(var(x) + eps)
//   rmsnorm    y = x rstd gain + bias,              rstd = 1 / sqrt(mean(x^2) + eps)
//
//   With n = (x - mean) rstd and g = dy gain:  dx = rstd (g - mean(g) - n mean(g n)), for rmsnorm without mean(g);
//   dgain = sum over rows of dy n,  dbias = sum over rows of dy.
//
// Sources: Ba, Kiros & Hinton, "Layer Normalization" (2016); Zhang & Sennrich, "Root Mean Square Layer Normalization"
// (2019). Compiled once per instruction set.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

inline float row_mean(NormKind kind, const float* x, long width) {
  if (kind == NormKind::rmsnorm) return 0;
  return row_sum(x, width, [](Vector v) { return v; }) / static_cast<float>(width);
}

void norm(NormKind kind, long rows, long width, const float* x, long ldx, const float* gain, const float* bias,
          float eps, float* y, long ldy, float* stats) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy, stats += 2) {
    const float mean = row_mean(kind, x, width);
    const float variance =
        row_sum(x, width, [mean](Vector v) { return (v - mean) * (v - mean); }) / static_cast<float>(width);
    const float rstd = 1.0F / __builtin_sqrtf(variance + eps);
    stats[0] = mean;
    stats[1] = rstd;
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector v = (get(x + i) - mean) * rstd;
      if (gain != nullptr) v *= get(gain + i);
      if (bias != nullptr) v += get(bias + i);
      put(y + i, v);
    });
  }
}

void norm_backward(NormKind kind, long rows, long width, const float* x, long ldx, const float* gain,
                   const float* stats, const float* dy, long lddy, float* dx, long lddx, float* dgain, float* dbias) {
  for (long r = 0; r < rows; ++r, x += ldx, dy += lddy, dx += lddx, stats += 2) {
    const float mean = stats[0], rstd = stats[1];
    Vector sum_g{}, sum_gn{};
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Vector n = (get(x + i) - mean) * rstd, d = get(dy + i);
      if (dgain != nullptr) put(dgain + i, get(dgain + i) + d * n);
      if (dbias != nullptr) put(dbias + i, get(dbias + i) + d);
      const Vector g = gain != nullptr ? d * get(gain + i) : d;
      sum_g += g;  // what lies behind a short row is 0 in dy
      sum_gn += g * n;
    });
    const float mean_g = kind == NormKind::layernorm ? reduce_add(sum_g) / static_cast<float>(width) : 0;
    const float mean_gn = reduce_add(sum_gn) / static_cast<float>(width);
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Vector n = (get(x + i) - mean) * rstd, d = get(dy + i);
      const Vector g = gain != nullptr ? d * get(gain + i) : d;
      put(dx + i, get(dx + i) + (g - mean_g - n * mean_gn) * rstd);
    });
  }
}

}  // namespace
}  // namespace chargpt::cpu
