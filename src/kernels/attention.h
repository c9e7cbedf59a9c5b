// Causal attention of one head, q, k, v, o (T, hs), forward and backward; forward also for only the last queries, with
// cached keys and values:
//
//   S = scale q k^T,  P = softmax of each row over columns 0 to its own,  o = P v
//
//   dP = do v^T,  dS = P (dP - rowsum(do o)),  dq = scale dS k,  dk = scale dS^T q,  dv = P^T do
//
// Tiles of queries skip the keys that the mask hides. Of P only two numbers per row are stored; backward recomputes P
// from them, as FlashAttention does. With dropout, P and dP are multiplied by the mask.
//
// Sources: Vaswani et al., "Attention is all you need" (2017), section 3.2.1; Dao et al., "FlashAttention" (2022).
// Compiled once per instruction set.
#pragma once

#include "kernels/kernels.h"
#include "kernels/matmul.h"
#include "kernels/rows.h"

namespace chargpt::cpu {
namespace {

constexpr long query_rows = tile_rows(2);  ///< rows of a tile
constexpr long attention_rows = 128;       ///< query rows whose weights backward stores at the same time

inline long rounded_up(long n, long to) {
  return (n + to - 1) / to * to;
}

/// Size of the scratch buffer in floats; see Kernels::attention_scratch.
long attention_scratch(long T, long hs) {
  const long stride = rounded_up(T, lanes) + lanes, rows = T < attention_rows ? T : attention_rows;
  return 2 * (hs * stride + 2 * lanes) + 2 * ((rows < query_rows ? query_rows : rows) * stride + 2 * lanes);
}

/// Softmax of row i over columns 0 to i; the columns after them, up to `end`, become 0. Reads and writes whole vectors,
/// so rows need padding. stats: the largest scaled score and 1 / sum.
inline void softmax_row(float* row, long i, long end, float scale, float* stats) {
  const long whole = (i + 1) / lanes * lanes, left = i + 1 - whole;
  Vector max_score = keep_first(load(row + whole), left, -__builtin_inff());
  for (long j = 0; j < whole; j += lanes) max_score = max(max_score, load(row + j));
  const float max_scaled = reduce_max(max_score) * scale;
  Vector total{};
  for (long j = 0; j < whole; j += lanes) {
    const Vector e = exp(load(row + j) * scale - max_scaled);
    store(row + j, e);
    total += e;
  }
  const Vector last = keep_first(exp(load(row + whole) * scale - max_scaled), left);
  const float inverse_sum = 1.0F / reduce_add(total + last);
  for (long j = 0; j < whole; j += lanes) store(row + j, load(row + j) * inverse_sum);
  store(row + whole, last * inverse_sum);
  for (long j = whole + lanes; j < end; j += lanes) store(row + j, splat(0));
  stats[0] = max_scaled;
  stats[1] = inverse_sum;
}

/// `Vectors` vectors of o = w (count) times values, rows `ld` apart. Four rows at a time, because consecutive additions
/// to one sum would wait for each other.
template <int Vectors, class Get, class Put>
inline __attribute__((always_inline)) void weighted_columns(long count, const float* w, const float* values, long ld,
                                                            float* o, Get get, Put put) {
  Vector sums[4][Vectors]{};
  long j = 0;
  for (; j + 4 <= count; j += 4, values += 4 * ld)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sums[i][v] += w[j + i] * get(values + i * ld + v * lanes);
  for (; j < count; ++j, values += ld)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sums[0][v] += w[j] * get(values + v * lanes);
#pragma GCC unroll 2
  for (int v = 0; v < Vectors; ++v) put(o + v * lanes, (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]));
}

/// o (hs) = w (count) times values, rows `ld` apart. Two vectors in a pass: with AVX2 they are one cache line, and the
/// values are not in the nearest cache.
inline void weighted_sum(long count, long hs, const float* w, const float* values, long ld, float* o) {
  long c = 0;
  for (; c + 2 * lanes <= hs; c += 2 * lanes)
    weighted_columns<2>(
        count, w, values + c, ld, o + c, [](const float* p) { return load(p); },
        [](float* p, Vector v) { store(p, v); });
  for_each_vector(hs - c, [&](long i, auto get, auto put) {
    weighted_columns<1>(count, w, values + c + i, ld, o + c + i, get, put);
  });
}

void attention(const HeadShape& shape, const float* q, const HeadKeys& keys, const float* v, long ldv, float* o,
               float* stats, const DropoutMask* mask, std::uint64_t first_element, float* scratch) {
  const long count = shape.end - shape.begin, hs = shape.hs, stride = rounded_up(shape.end, lanes) + lanes;
  if (count == 1 && mask == nullptr) {  // whole panels; the softmax ignores scores at or after `end`
    matvec(rounded_up(shape.end, panel_width), hs, q, keys.values, keys.ld, keys.panel_stride, scratch, false);
    softmax_row(scratch, shape.begin, shape.end, shape.scale, stats);
    return weighted_sum(shape.end, hs, scratch, v, ldv, o);
  }
  for_each_tile(count, query_rows, [&](long from, long to) {
    const long end = shape.begin + to;
    matmul<false>(to - from, end, hs, q + from * shape.ld, shape.ld, keys.values, keys.ld, keys.panel_stride, scratch,
                  stride, false);
    for (long i = from; i < to; ++i) {
      float* const row = scratch + (i - from) * stride;
      softmax_row(row, shape.begin + i, end, shape.scale, stats + 2 * i);
      if (mask != nullptr)
        dropout_row(*mask, first_element + static_cast<std::uint64_t>(i * shape.mask_ld), i + 1, row);
    }
    matmul<false>(to - from, hs, end, scratch, stride, v, ldv, panel_width, o + from * shape.ldo, shape.ldo, false);
  });
}

/// Turns a row p of scores into weights (after dropout), and the row ds of gradients with respect to weights into
/// gradients with respect to scores: ds = p (dp - do . o) scale.
inline void weights_backward(const HeadShape& shape, long i, long end, const float* stats, float d_dot_o,
                             const DropoutMask* mask, std::uint64_t first_element, float* p, float* ds) {
  if (mask != nullptr) dropout_row(*mask, first_element + static_cast<std::uint64_t>(i * shape.mask_ld), i + 1, ds);
  const float max_scaled = stats[0], inverse_sum = stats[1];
  for (long j = 0; j < end; j += lanes) {
    const Vector weight = keep_first(exp(load(p + j) * shape.scale - max_scaled) * inverse_sum, i + 1 - j);
    store(p + j, weight);
    store(ds + j, weight * keep_first(load(ds + j) - d_dot_o, i + 1 - j) * shape.scale);
  }
  if (mask != nullptr) dropout_row(*mask, first_element + static_cast<std::uint64_t>(i * shape.mask_ld), i + 1, p);
}

void attention_backward(const HeadShape& shape, const float* q, const float* k, const float* v, const float* o,
                        const float* stats, const float* d_o, float* dq, float* dk, float* dv, long ldd,
                        const DropoutMask* mask, std::uint64_t first_element, float* scratch) {
  const long T = shape.end, hs = shape.hs, stride = rounded_up(T, lanes) + lanes;
  float* const k_transposed = scratch;                                 // (hs, T)
  float* const v_transposed = k_transposed + hs * stride + 2 * lanes;  // (hs, T)
  float* const weights = v_transposed + hs * stride + 2 * lanes;       // (attention_rows, T)
  const long held = T < attention_rows ? T : attention_rows;
  float* const d_scores = weights + held * stride + 2 * lanes;  // (attention_rows, T)
  transpose(T, hs, k, shape.ld, k_transposed, stride);
  transpose(T, hs, v, shape.ld, v_transposed, stride);
  for (long top = 0; top < T; top += attention_rows) {
    const long bottom = top + attention_rows < T ? top + attention_rows : T;
    for_each_tile(bottom - top, query_rows, [&](long from, long to) {
      const long begin = top + from, end = top + to;
      float* const p = weights + from * stride;
      float* const ds = d_scores + from * stride;
      matmul<false>(to - from, end, hs, q + begin * shape.ld, shape.ld, k_transposed, stride, panel_width, p, stride,
                    false);
      matmul<false>(to - from, end, hs, d_o + begin * shape.ldo, shape.ldo, v_transposed, stride, panel_width, ds,
                    stride, false);
      for (long i = begin; i < end; ++i) {
        Vector dot{};
        for_each_vector(
            hs, [&](long c, auto get, auto) { dot += get(d_o + i * shape.ldo + c) * get(o + i * shape.ldo + c); });
        weights_backward(shape, i, end, stats + 2 * i, reduce_add(dot), mask, first_element, p + (i - begin) * stride,
                         ds + (i - begin) * stride);
      }
      matmul<false>(to - from, hs, end, ds, stride, k, shape.ld, panel_width, dq + begin * ldd, ldd, false);
    });
    for (long block = 0; block < bottom; block += attention_rows) {  // blocks of keys, in the same tiles as the queries
      const long length = block < top ? attention_rows : bottom - top;
      for_each_tile(length, query_rows, [&](long from, long to) {
        const long begin = block + from, seen = begin > top ? begin : top;  // rows from `seen` on see these keys
        const float* const p = weights + (seen - top) * stride + begin;
        const float* const ds = d_scores + (seen - top) * stride + begin;
        matmul<true>(to - from, hs, bottom - seen, p, stride, d_o + seen * shape.ldo, shape.ldo, panel_width,
                     dv + begin * ldd, ldd, block < top);
        matmul<true>(to - from, hs, bottom - seen, ds, stride, q + seen * shape.ld, shape.ld, panel_width,
                     dk + begin * ldd, ldd, block < top);
      });
    }
  }
}

}  // namespace
}  // namespace chargpt::cpu
