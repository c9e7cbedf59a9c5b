// C (M, N) = A (M, K) B (K, N), or += : matrix times matrix, with A transposed too, and vector times matrix.
//
// The sums of a tile of C, `tile_rows` x 2 vectors, stay in registers over all of K: A is broadcast, B is read in
// panels 2 vectors wide. Weights are packed into such panels beforehand, so that B's rows follow one another in memory;
// a panel may also hold them in bfloat16, which matvec reads in half the time. Source: Goto & van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication" (2008). Compiled once per instruction set.
#pragma once

#include "kernels/bf16.h"
#include "kernels/matmul_tiles.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

/// A tile narrower than whole vectors, from `tile` (rows, stride) to C. Apart, because a call beside the sums would
/// cost them their registers.
__attribute__((noinline)) void copy_narrow_tile(const float* tile, long stride, long rows, long columns, float* c,
                                                long ldc, bool add) {
  for (long m = 0; m < rows; ++m)
    for (long n = 0; n < columns; ++n) c[m * ldc + n] = (add ? c[m * ldc + n] : 0) + tile[m * stride + n];
}

template <int Rows, int Columns>
inline __attribute__((always_inline)) void write_tile(const Vector (&sums)[Rows][Columns], float* c, long ldc,
                                                      bool add) {
#pragma GCC unroll 16
  for (int m = 0; m < Rows; ++m) {
#pragma GCC unroll 2
    for (int v = 0; v < Columns; ++v) {
      float* const to = c + m * ldc + v * lanes;
      store(to, add ? load(to) + sums[m][v] : sums[m][v]);
    }
  }
}

template <int Columns>
inline void prefetch_row(const float* row) {
  for (int v = 0; v < Columns; ++v) __builtin_prefetch(row + v * lanes);
}

/// C (Rows, columns) (+)= A (Rows, depth) B (depth, columns), columns <= Columns vectors, more than one less. `soon`
/// has B's stride.
template <int Rows, int Columns, bool Transposed>
void product_tile(long depth, const float* a, long lda, const float* b, long ldb, float* c, long ldc, bool add,
                  long columns, Soon<float> soon) {
  Vector sums[Rows][Columns]{};
  // Rows in groups of three, each with a pointer of its own: what an address can add in one instruction.
  const long third = Transposed ? 3 : 3 * lda;
  const float *a0 = a, *a1 = a + third, *a2 = a1 + third, *a3 = a2 + third, *a4 = a3 + third;
  const long step = Transposed ? lda : 1;
  const long piece = (depth + Rows - 1) / Rows;  // of depth, for each row of C
  const float* to = c;
  for (long k = 0; k < depth; to += ldc) {
    prefetch_row<Columns>(to);
    for (long i = 0; i < soon.count; ++i, soon.row += ldb) prefetch_row<Columns>(soon.row);
    for (const long end = k + piece < depth ? k + piece : depth; k < end; ++k) {
      Vector right[Columns];
#pragma GCC unroll 2
      for (int v = 0; v < Columns; ++v) {
        __builtin_prefetch(b + rows_ahead * ldb + v * lanes);
        right[v] = load(b + v * lanes);
      }
#pragma GCC unroll 16
      for (int m = 0; m < Rows; ++m) {
        const float* const group = m < 3 ? a0 : m < 6 ? a1 : m < 9 ? a2 : m < 12 ? a3 : a4;
        const Vector left = splat(Transposed ? group[m % 3] : group[m % 3 * lda]);
#pragma GCC unroll 2
        for (int v = 0; v < Columns; ++v) sums[m][v] += left * right[v];
      }
      a0 += step, a1 += step, a2 += step, a3 += step, a4 += step;
      b += ldb;
    }
  }
  if (columns == Columns * lanes) {
    write_tile<Rows, Columns>(sums, c, ldc, add);
  } else {
    float tile[Rows * Columns * lanes];
    write_tile<Rows, Columns>(sums, tile, Columns * lanes, false);
    copy_narrow_tile(tile, Columns * lanes, Rows, columns, c, ldc, add);
  }
}

using Tile = void (*)(long, const float*, long, const float*, long, float*, long, bool, long, Soon<float>);

template <int Columns, bool Transposed>
struct Tiles {
  /// One for each number of rows from 1 on.
  Tile of[tile_rows];
  constexpr Tiles() : of() { fill<tile_rows>(); }
  template <int Rows>
  constexpr void fill() {
    of[Rows - 1] = product_tile<Rows, Columns, Transposed>;
    if constexpr (Rows > 1) fill<Rows - 1>();
  }
};
template <int Columns, bool Transposed>
constexpr Tiles<Columns, Transposed> tiles{};

template <bool Transposed>
void product(long rows, long columns, long depth, const float* a, long lda, const float* b, long ldb, long panel_stride,
             float* c, long ldc, bool add) {
  for_each_tile_of_panels(rows, columns, depth, b, ldb, panel_stride,
                          [&](long begin, long end, long n, const float* panel, Soon<float> soon) {
                            const long width = columns - n < 2 * lanes ? columns - n : 2 * lanes;
                            const Tile* const of = width > lanes ? tiles<2, Transposed>.of : tiles<1, Transposed>.of;
                            of[end - begin - 1](depth, a + (Transposed ? begin : begin * lda), lda, panel, ldb,
                                                c + begin * ldc + n, ldc, add, width, soon);
                          });
}

/// c (Panels, 2 vectors) (+)= a (depth) times as many whole panels of B.
template <int Panels>
inline void row_panels(long depth, const float* a, const float* b, long ldb, long panel_stride, float* c, bool add) {
  Vector sums[2 * Panels]{};
  for (long k = 0; k < depth; ++k, b += ldb) {
    const Vector left = splat(a[k]);
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      __builtin_prefetch(b + p * panel_stride + rows_ahead * ldb);
      __builtin_prefetch(b + p * panel_stride + rows_ahead * ldb + lanes);
      sums[2 * p] += left * load(b + p * panel_stride);
      sums[2 * p + 1] += left * load(b + p * panel_stride + lanes);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < 2 * Panels; ++v) store(c + v * lanes, add ? load(c + v * lanes) + sums[v] : sums[v]);
}

/// See Kernels::row_product.
void row_product(long columns, long depth, const float* a, const float* b, long ldb, long panel_stride, float* c,
                 bool add) {
  constexpr long panel = 2 * lanes;
  long n = 0;
  for (; n + 4 * panel <= columns; n += 4 * panel, b += 4 * panel_stride)
    row_panels<4>(depth, a, b, ldb, panel_stride, c + n, add);
  for (; n + 2 * panel <= columns; n += 2 * panel, b += 2 * panel_stride)
    row_panels<2>(depth, a, b, ldb, panel_stride, c + n, add);
  if (n < columns) product<false>(1, columns - n, depth, a, depth, b, ldb, panel_stride, c + n, columns, add);
}

// ---- panels of bfloat16

inline Ints load_pairs(const Half* from) {
  Ints v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline Vector lower_halves(Ints pairs) {
  return as_floats(pairs << 16);
}
inline Vector upper_halves(Ints pairs) {
  return as_floats(pairs & ~0xffff);
}

/// The nearest bfloat16 as a float, ties to even; a NaN stays one.
inline Ints nearest_half(Vector v) {
  const Ints bits = as_ints(v);
  const Ints rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & ~0xffff;
  return v == v ? rounded : bits & ~0xffff;
}

/// See Kernels::narrow.
void narrow(long K, const float* from, Half* to) {
  constexpr long panel = 2 * lanes;
  for (long k = 0; k < K; k += 2, from += 2 * panel, to += 2 * panel)
    for (long v = 0; v < panel; v += lanes) {
      const Vector second = k + 1 < K ? load(from + panel + v) : splat(0);
      const Ints pairs = ((nearest_half(load(from + v)) >> 16) & 0xffff) | nearest_half(second);
      __builtin_memcpy(to + 2 * v, &pairs, sizeof pairs);
    }
}

/// See Kernels::widen.
void widen(long K, const Half* from, float* to) {
  constexpr long panel = 2 * lanes;
  for (long k = 0; k < K; k += 2, from += 2 * panel, to += 2 * panel)
    for (long v = 0; v < panel; v += lanes) {
      const Ints pairs = load_pairs(from + 2 * v);
      store(to + v, lower_halves(pairs));
      if (k + 1 < K) store(to + panel + v, upper_halves(pairs));
    }
}

/// row_panels on narrow ones.
template <int Panels>
inline void narrow_row_panels(long depth, const float* a, const Half* b, long panel_stride, float* c, bool add) {
  constexpr long panel = 2 * lanes;
  Vector sums[2 * Panels]{};
  for (long k = 0; k < depth; k += 2, b += 2 * panel) {
    const Vector first = splat(a[k]), second = splat(k + 1 < depth ? a[k + 1] : 0);
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      __builtin_prefetch(b + p * panel_stride + rows_ahead * panel);
      __builtin_prefetch(b + p * panel_stride + rows_ahead * panel + panel);
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        const Ints pairs = load_pairs(b + p * panel_stride + 2 * v * lanes);
        sums[2 * p + v] += first * lower_halves(pairs);
        sums[2 * p + v] += second * upper_halves(pairs);
      }
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < 2 * Panels; ++v) store(c + v * lanes, add ? load(c + v * lanes) + sums[v] : sums[v]);
}

/// See Kernels::narrow_row_product.
void narrow_row_product(long columns, long depth, const float* a, const Half* b, long panel_stride, float* c,
                        bool add) {
  constexpr long panel = 2 * lanes;
  long n = 0;
  for (; n + 4 * panel <= columns; n += 4 * panel, b += 4 * panel_stride)
    narrow_row_panels<4>(depth, a, b, panel_stride, c + n, add);
  for (; n + panel <= columns; n += panel, b += panel_stride)
    narrow_row_panels<1>(depth, a, b, panel_stride, c + n, add);
  if (n == columns) return;
  float last[panel] = {};
  const auto bytes = static_cast<unsigned long>(columns - n) * sizeof(float);
  __builtin_memcpy(last, c + n, bytes);
  narrow_row_panels<1>(depth, a, b, panel_stride, last, add);
  __builtin_memcpy(c + n, last, bytes);
}

/// See Kernels::pack.
void pack(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, float* packed) {
  constexpr long panel = 2 * lanes;
  for (long p = first_panel; p < last_panel; ++p) {
    float* const to = packed + p * K * panel;
    const long begin = p * panel, width = N - begin < panel ? N - begin : panel;
    if (transposed) {
      transpose(width, K, b + begin * K, K, to, panel);
    } else {
      for (long k = 0; k < K; ++k)
        for_each_vector(width,
                        [&](long n, auto get, auto put) { put(to + k * panel + n, get(b + k * N + begin + n)); });
    }
    for (long k = 0; width < panel && k < K; ++k)
      for (long n = width; n < panel; ++n) to[k * panel + n] = 0;
  }
}

}  // namespace
}  // namespace chargpt::cpu
