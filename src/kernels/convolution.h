// Short causal convolutions of each channel over the tokens of a window, added to their input:
//
//   y_t = x_t + sum over j of w_j x_(t-j),  j from 0 to taps - 1 as far as the window reaches back
//   dx_t = dy_t + sum over j of w_j dy_(t+j),  dw_j = sum over t of dy_t x_(t-j)
//
// w (taps, C). Sources: So et al., "Primer" (2021); Allen-Zhu, "Physics of language models: part 4.1, canon layers"
// (2025). Compiled once per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

void convolve(long rows, long seen, long width, long taps, const float* x, long ldx, const float* w, float* y,
              long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy) {
    const long reach = seen + r + 1 < taps ? seen + r + 1 : taps;
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector sum = get(x + i);
      for (long j = 0; j < reach; ++j) sum += get(w + j * width + i) * get(x - j * ldx + i);
      put(y + i, sum);
    });
  }
}

void convolve_backward(long rows, long width, long taps, const float* x, long ldx, const float* w, const float* dy,
                       long lddy, float* dx, long lddx, float* dw) {
  for (long r = 0; r < rows; ++r) {
    const long reach = rows - r < taps ? rows - r : taps;
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector sum = get(dy + r * lddy + i);
      for (long j = 0; j < reach; ++j) sum += get(w + j * width + i) * get(dy + (r + j) * lddy + i);
      put(dx + r * lddx + i, sum);
    });
  }
  for (long j = 0; j < taps; ++j)
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector sum{};
      for (long r = j; r < rows; ++r) sum += get(dy + r * lddy + i) * get(x + (r - j) * ldx + i);
      put(dw + j * width + i, get(dw + j * width + i) + sum);
    });
}

}  // namespace
}  // namespace chargpt::cpu
