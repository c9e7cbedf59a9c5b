// Queries and keys, head by head: RMS norm without gain (QK-norm), then rotation by position (RoPE). Of a head's
// features x (hs), x_i and x_(i + hs/2) are a pair (a, b), which at position p is rotated by t = p base^(-2i / hs):
//
//   x = x rstd,  rstd = 1 / sqrt(mean(x^2) + eps)
//   (a, b) = (a cos t - b sin t, b cos t + a sin t)
//
//   Rotation keeps dot products, so the norm's gradient, (dx - x mean(dx x)) rstd, is taken of what is rotated, and
//   then rotated back by -t.
//
// Sources: Henry et al., "Query-Key Normalization for Transformers" (2020); Su et al., "RoFormer" (2021). Compiled once
// per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

/// (a, b) of the two halves -> (a cos - b sin, b cos + a sin); `direction` -1 rotates back.
inline void rotate(float* x, long hs, const float* cosines, const float* sines, float direction) {
  const long half = hs / 2;
  for_each_vector(half, [&](long i, auto get, auto put) {
    const Vector a = get(x + i), b = get(x + half + i);
    const Vector c = get(cosines + i), s = get(sines + i) * direction;
    put(x + i, a * c - b * s);
    put(x + half + i, b * c + a * s);
  });
}

void qk_norm_rope(long rows, long T, long heads, long hs, float* x, long ldx, float eps, float* rstd,
                  const float* cosines, const float* sines) {
  for (long r = 0; r < rows; ++r)
    for (long h = 0; h < heads; ++h) {
      float* const head = x + r * ldx + h * hs;
      if (rstd != nullptr) {
        const float square = row_sum(head, hs, [](Vector v) { return v * v; }) / static_cast<float>(hs);
        const float head_rstd = rstd[r * heads + h] = 1.0F / __builtin_sqrtf(square + eps);
        for_each_vector(hs, [&](long i, auto get, auto put) { put(head + i, get(head + i) * head_rstd); });
      }
      if (cosines != nullptr) rotate(head, hs, cosines + r % T * (hs / 2), sines + r % T * (hs / 2), 1);
    }
}

void qk_norm_rope_backward(long rows, long T, long heads, long hs, const float* x, long ldx, const float* rstd,
                           const float* cosines, const float* sines, float* dx, long lddx) {
  for (long r = 0; r < rows; ++r)
    for (long h = 0; h < heads; ++h) {
      const float* const head = x + r * ldx + h * hs;
      float* const gradient = dx + r * lddx + h * hs;
      if (rstd != nullptr) {
        Vector dot{};
        for_each_vector(hs, [&](long i, auto get, auto) { dot += get(head + i) * get(gradient + i); });
        const float mean = reduce_add(dot) / static_cast<float>(hs), head_rstd = rstd[r * heads + h];
        for_each_vector(hs, [&](long i, auto get, auto put) {
          put(gradient + i, (get(gradient + i) - get(head + i) * mean) * head_rstd);
        });
      }
      if (cosines != nullptr) rotate(gradient, hs, cosines + r % T * (hs / 2), sines + r % T * (hs / 2), -1);
    }
}

}  // namespace
}  // namespace chargpt::cpu
