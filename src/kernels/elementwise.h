// Sums, products and copies of rows: y += x, y *= x, y = x, y = bias, dbias += the column sums of dy, and the sum of
// the threads' gradient buffers with the sum of its squares, for the norm that clipping asks for. Compiled once per
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

void fill(long rows, long width, const float* bias, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, bias != nullptr ? get(bias + i) : splat(0)); });
}

void add_rows(long rows, long width, const float* dy, long lddy, float* dbias) {
  for (long r = 0; r < rows; ++r, dy += lddy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(dbias + i, get(dbias + i) + get(dy + i)); });
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
    squares += static_cast<double>(sum(partial));
  }
  return squares;
}

}  // namespace
}  // namespace chargpt::cpu
