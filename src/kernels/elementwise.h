// Element by element: y += x, y *= x, y = x; one row to all rows (a bias), and the sum of all rows (its gradient); the
// sum of the threads' gradient buffers together with its squared norm, which clipping needs. Compiled once per
// instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

void add(long rows, long width, const float* x, long ldx, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, get(y + i) + get(x + i)); });
}

void multiply(long rows, long width, const float* x, long ldx, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, get(y + i) * get(x + i)); });
}

void copy(long rows, long width, const float* x, long ldx, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, get(x + i)); });
}

void broadcast_row(long rows, long width, const float* row, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, row != nullptr ? get(row + i) : splat(0)); });
}

void add_column_sums(long rows, long width, const float* x, long ldx, float* sums) {
  for (long r = 0; r < rows; ++r, x += ldx)
    for_each_vector(width, [&](long i, auto get, auto put) { put(sums + i, get(sums + i) + get(x + i)); });
}

double sum_buffers(float* to, const float* const* others, long count, long n) {
  double squares = 0;
  constexpr long block = 4096;  // floats, so that a block's squares are summed in float32 and blocks in float64
  for (long begin = 0; begin < n; begin += block) {
    Vector partial{};
    const long length = n - begin < block ? n - begin : block;
    for_each_vector(length, [&](long i, auto get, auto put) {
      Vector total = get(to + begin + i);
      for (long other = 0; other < count; ++other) total += get(others[other] + begin + i);
      put(to + begin + i, total);
      partial += total * total;
    });
    squares += static_cast<double>(reduce_add(partial));
  }
  return squares;
}

}  // namespace
}  // namespace chargpt::cpu
