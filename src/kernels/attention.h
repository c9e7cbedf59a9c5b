// Causal attention of one head, q, k, v, o (T, hs), forward and backward:
//
//   S = scale q k^T,  P = softmax of each row over columns 0 to its own,  o = P v
//
//   dP = do v^T,  dS = P (dP - rowsum(do o)),  dq = scale dS k,  dk = scale dS^T q,  dv = P^T do
//
// By tiles of queries, which skip the keys that they cannot see. Of P nothing is kept but two numbers a row, from which
// backward computes it again, as FlashAttention does. With dropout, P and dP are multiplied by the mask.
//
// Sources: Vaswani et al., "Attention is all you need" (2017), section 3.2.1; Dao et al., "FlashAttention" (2022).
// Compiled once per instruction set.
#pragma once

#include "kernels/dropout.h"
#include "kernels/kernels.h"
#include "kernels/matmul.h"

namespace chargpt::cpu {
namespace {

constexpr long attention_rows = 128;  ///< query rows whose weights backward holds at once

inline long rounded_up(long n, long to) {
  return (n + to - 1) / to * to;
}

/// See Kernels::attention_scratch.
long attention_scratch(long T, long hs) {
  const long width = rounded_up(T, lanes) + lanes, rows = T < attention_rows ? T : attention_rows;
  return 2 * (hs * width + 2 * lanes) + 2 * ((rows < tile_rows ? tile_rows : rows) * width + 2 * lanes);
}

/// Row i sees columns 0 to i: softmax of those, 0 up to `end`. Rows are read and written in whole vectors, which they
/// have room for.
inline void softmax_row(float* row, long i, long end, float scale, float* statistics) {
  const long whole = (i + 1) / lanes * lanes, left = i + 1 - whole;
  Vector most = only_first(load(row + whole), left, -__builtin_inff());
  for (long j = 0; j < whole; j += lanes) most = larger(most, load(row + j));
  const float shift = largest(most) * scale;
  Vector total{};
  for (long j = 0; j < whole; j += lanes) {
    const Vector e = exponential(load(row + j) * scale - shift);
    store(row + j, e);
    total += e;
  }
  const Vector last = only_first(exponential(load(row + whole) * scale - shift), left);
  const float inverse = 1.0F / sum(total + last);
  for (long j = 0; j < whole; j += lanes) store(row + j, load(row + j) * inverse);
  store(row + whole, last * inverse);
  for (long j = whole + lanes; j < end; j += lanes) store(row + j, splat(0));
  statistics[0] = shift;
  statistics[1] = inverse;
}

void attention(const HeadShape& shape, const float* q, const float* k, const float* v, float* o,
               RowStatistics* statistics, const DropoutWords* words, std::uint64_t first, float* scratch) {
  const long T = shape.T, hs = shape.hs, width = rounded_up(T, lanes) + lanes;
  float* const keys = scratch;                           // (hs, T)
  float* const weights = keys + hs * width + 2 * lanes;  // (tile_rows, T)
  transpose(T, hs, k, shape.ld, keys, width);
  for_each_tile(T, [&](long begin, long end) {
    product<false>(end - begin, end, hs, q + begin * shape.ld, shape.ld, keys, width, 2 * lanes, weights, width, false);
    for (long i = begin; i < end; ++i) {
      float* const row = weights + (i - begin) * width;
      softmax_row(row, i, end, shape.scale, statistics + 2 * i);
      if (words != nullptr) drop_row(*words, first + static_cast<std::uint64_t>(i * T), i + 1, row);
    }
    product<false>(end - begin, hs, end, weights, width, v, shape.ld, 2 * lanes, o + begin * shape.ldo, shape.ldo,
                   false);
  });
}

/// One row of scores becomes weights (dropped where dropout is), and the gradient by weights becomes that by scores:
/// ds = p (dp - do . o) scale.
inline void weights_backward(const HeadShape& shape, long i, long end, const float* statistics, float d_dot_o,
                             const DropoutWords* words, std::uint64_t first, float* p, float* ds) {
  if (words != nullptr) drop_row(*words, first + static_cast<std::uint64_t>(i * shape.T), i + 1, ds);
  const float most = statistics[0], inverse = statistics[1];
  for (long j = 0; j < end; j += lanes) {
    const Vector weight = only_first(exponential(load(p + j) * shape.scale - most) * inverse, i + 1 - j);
    store(p + j, weight);
    store(ds + j, weight * only_first(load(ds + j) - d_dot_o, i + 1 - j) * shape.scale);
  }
  if (words != nullptr) drop_row(*words, first + static_cast<std::uint64_t>(i * shape.T), i + 1, p);
}

void attention_backward(const HeadShape& shape, const float* q, const float* k, const float* v, const float* o,
                        const RowStatistics* statistics, const float* d_o, float* dq, float* dk, float* dv, long ldd,
                        const DropoutWords* words, std::uint64_t first, float* scratch) {
  const long T = shape.T, hs = shape.hs, width = rounded_up(T, lanes) + lanes;
  float* const keys = scratch;                             // (hs, T)
  float* const values = keys + hs * width + 2 * lanes;     // (hs, T)
  float* const weights = values + hs * width + 2 * lanes;  // (attention_rows, T)
  const long held = T < attention_rows ? T : attention_rows;
  float* const scores = weights + held * width + 2 * lanes;  // (attention_rows, T): gradient by scores
  transpose(T, hs, k, shape.ld, keys, width);
  transpose(T, hs, v, shape.ld, values, width);
  for (long top = 0; top < T; top += attention_rows) {
    const long bottom = top + attention_rows < T ? top + attention_rows : T;
    for_each_tile(bottom - top, [&](long from, long to) {
      const long begin = top + from, end = top + to;
      float* const p = weights + from * width;
      float* const ds = scores + from * width;
      product<false>(to - from, end, hs, q + begin * shape.ld, shape.ld, keys, width, 2 * lanes, p, width, false);
      product<false>(to - from, end, hs, d_o + begin * shape.ldo, shape.ldo, values, width, 2 * lanes, ds, width,
                     false);
      for (long i = begin; i < end; ++i) {
        Vector dot{};
        for_each_vector(
            hs, [&](long c, auto get, auto) { dot += get(d_o + i * shape.ldo + c) * get(o + i * shape.ldo + c); });
        weights_backward(shape, i, end, statistics + 2 * i, sum(dot), words, first, p + (i - begin) * width,
                         ds + (i - begin) * width);
      }
      product<false>(to - from, hs, end, ds, width, k, shape.ld, 2 * lanes, dq + begin * ldd, ldd, false);
    });
    for (long block = 0; block < bottom; block += attention_rows) {  // of keys, cut into tiles as they were as queries
      const long length = block < top ? attention_rows : bottom - top;
      for_each_tile(length, [&](long from, long to) {
        const long begin = block + from, seen = begin > top ? begin : top;  // by the rows from `seen` on
        const float* const p = weights + (seen - top) * width + begin;
        const float* const ds = scores + (seen - top) * width + begin;
        product<true>(to - from, hs, bottom - seen, p, width, d_o + seen * shape.ldo, shape.ldo, 2 * lanes,
                      dv + begin * ldd, ldd, block < top);
        product<true>(to - from, hs, bottom - seen, ds, width, q + seen * shape.ld, shape.ld, 2 * lanes,
                      dk + begin * ldd, ldd, block < top);
      });
    }
  }
}

/// o (hs) = w (count) times values (count, hs), four rows at a time: one after the other each addition would wait for
/// the one before.
inline void weighted_sum(long count, long hs, const float* w, const float* values, float* o) {
  for_each_vector(hs, [&](long c, auto get, auto put) {
    Vector s0{}, s1{}, s2{}, s3{};
    long j = 0;
    for (const float* v = values + c; j + 4 <= count; j += 4, v += 4 * hs) {
      s0 += w[j] * get(v);
      s1 += w[j + 1] * get(v + hs);
      s2 += w[j + 2] * get(v + 2 * hs);
      s3 += w[j + 3] * get(v + 3 * hs);
    }
    for (; j < count; ++j) s0 += w[j] * get(values + j * hs + c);
    put(o + c, (s0 + s1) + (s2 + s3));
  });
}

/// See Kernels::attend.
void attend(const KeptHeadShape& shape, const float* q, const float* keys, const float* values, float* o,
            float* scratch) {
  constexpr long panel = 2 * lanes;
  const long hs = shape.hs, width = rounded_up(shape.end, lanes) + lanes;
  RowStatistics unused[2];
  if (shape.end - shape.begin == 1) {  // whole panels: scores of what is not there are left out by the softmax
    row_product(rounded_up(shape.end, panel), hs, q, keys, panel, hs * panel, scratch, false);
    softmax_row(scratch, shape.begin, shape.end, shape.scale, unused);
    return weighted_sum(shape.end, hs, scratch, values, o);
  }
  for_each_tile(shape.end - shape.begin, [&](long from, long to) {
    const long end = shape.begin + to;
    product<false>(to - from, end, hs, q + from * shape.ld, shape.ld, keys, panel, hs * panel, scratch, width, false);
    for (long i = from; i < to; ++i)
      softmax_row(scratch + (i - from) * width, shape.begin + i, end, shape.scale, unused);
    product<false>(to - from, hs, end, scratch, width, values, hs, panel, o + from * shape.ldo, shape.ldo, false);
  });
}

}  // namespace
}  // namespace chargpt::cpu
