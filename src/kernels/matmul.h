// C (M, N) = A (M, K) B (K, N), or +=: matrix times matrix, also with A transposed, and vector times matrix.
//
// The sums of a tile of C stay in registers over all of K: A is broadcast, B is read in panels two vectors wide.
// Weights are packed into such panels beforehand, so that B's rows are contiguous in memory. Source: Goto & van de
// Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008). Compiled once per instruction set.
#pragma once

#include "kernels/matmul_tiles.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

/// Copies a tile narrower than whole vectors from `tile` (rows, stride) to C. Not inlined: the compiler would turn its
/// loops into calls in the middle of the sums and spill those to memory.
__attribute__((noinline)) void copy_partial_tile(const float* tile, long stride, long rows, long columns, float* c,
                                                 long ldc, bool add) {
  for (long m = 0; m < rows; ++m)
    for (long n = 0; n < columns; ++n) c[m * ldc + n] = (add ? c[m * ldc + n] : 0) + tile[m * stride + n];
}

template <int Rows, int Columns>
inline __attribute__((always_inline)) void write_tile(const Vector (&sums)[Rows][Columns], float* c, long ldc,
                                                      bool add) {
#pragma GCC unroll 16
  for (int m = 0; m < Rows; ++m) {
#pragma GCC unroll 4
    for (int v = 0; v < Columns; ++v) {
      float* const to = c + m * ldc + v * lanes;
      store(to, add ? load(to) + sums[m][v] : sums[m][v]);
    }
  }
}

template <int Columns>
inline void prefetch_row(const float* row, long panel_stride) {
  for (int v = 0; v < Columns; ++v)
    __builtin_prefetch(row + v / panel_vectors * panel_stride + v % panel_vectors * lanes);
}

/// C (Rows, columns) = A (Rows, K) B (K, columns), or += if `add`; Transposed: A is (K, Rows). The columns fill
/// `Columns` vectors, the last possibly in part. `prefetch`: rows of the panels after B's, with the same strides.
template <int Rows, int Columns, bool Transposed>
void matmul_tile(long K, const float* a, long lda, const float* b, long ldb, long panel_stride, float* c, long ldc,
                 bool add, long columns, Prefetch<float> prefetch) {
  Vector sums[Rows][Columns]{};
  // One pointer for every three rows: an x86 address adds lda once or twice. Pointers past the last row are not read.
  const long three_rows = Transposed ? 3 : 3 * lda;
  const float *a0 = a, *a1 = a + three_rows, *a2 = a1 + three_rows, *a3 = a2 + three_rows, *a4 = a3 + three_rows;
  const long next_k = Transposed ? lda : 1;
  const float* panels[] = {b, b + panel_stride};
  // K is split into `Rows` pieces to spread the prefetches: before each, a row of C and rows of the next panels.
  const long piece = (K + Rows - 1) / Rows;
  const float* to = c;
  for (long k = 0; k < K; to += ldc) {
    prefetch_row<Columns>(to, panel_width);
    for (long i = 0; i < prefetch.count; ++i, prefetch.row += ldb) prefetch_row<Columns>(prefetch.row, panel_stride);
    for (const long end = k + piece < K ? k + piece : K; k < end; ++k) {
      if constexpr (Transposed) __builtin_prefetch(a0 + prefetch_rows * lda);  // too far apart for the processor
      Vector right[Columns];
#pragma GCC unroll 4
      for (int v = 0; v < Columns; ++v) {
        const float* const from = panels[v / panel_vectors] + v % panel_vectors * lanes;
        if constexpr (tiles_prefetch_rows) __builtin_prefetch(from + prefetch_rows * ldb);
        right[v] = load(from);
      }
#pragma GCC unroll 16
      for (int m = 0; m < Rows; ++m) {
        const float* const group = m < 3 ? a0 : m < 6 ? a1 : m < 9 ? a2 : m < 12 ? a3 : a4;
        const Vector left = splat(Transposed ? group[m % 3] : group[m % 3 * lda]);
#pragma GCC unroll 4
        for (int v = 0; v < Columns; ++v) sums[m][v] += left * right[v];
      }
      a0 += next_k, a1 += next_k, a2 += next_k, a3 += next_k, a4 += next_k;
      panels[0] += ldb, panels[1] += ldb;
    }
  }
  if (columns == Columns * lanes) {
    write_tile<Rows, Columns>(sums, c, ldc, add);
  } else {
    float tile[Rows * Columns * lanes];
    write_tile<Rows, Columns>(sums, tile, Columns * lanes, false);
    copy_partial_tile(tile, Columns * lanes, Rows, columns, c, ldc, add);
  }
}

using MatmulTile = void (*)(long, const float*, long, const float*, long, long, float*, long, bool, long,
                            Prefetch<float>);

/// Tile shapes: with 32 registers 6 rows of two panels, with 16 registers 6 rows of one panel; tiles at the right edge
/// are narrower and higher (tile_rows). 6 rows of two panels need fewer instructions per multiply-add than 14 rows of
/// one, which helps processors that issue four instructions per cycle, not six.
constexpr int tile_panels = registers == 32 ? 2 : 1;
constexpr int tile_columns = tile_panels * panel_vectors;  ///< in vectors

template <bool Transposed>
struct MatmulTiles {
  MatmulTile of[tile_columns][tile_rows(1)]{};  ///< for 1 vector's columns, 2, ... and 1 row, 2 rows, ...
  constexpr MatmulTiles() { fill<tile_columns, tile_rows(tile_columns)>(); }
  template <int Columns, int Rows>
  constexpr void fill() {
    of[Columns - 1][Rows - 1] = matmul_tile<Rows, Columns, Transposed>;
    if constexpr (Rows > 1)
      fill<Columns, Rows - 1>();
    else if constexpr (Columns > 1)
      fill<Columns - 1, tile_rows(Columns - 1)>();
  }
};
template <bool Transposed>
constexpr MatmulTiles<Transposed> matmul_tiles{};

constexpr long vectors_of(long width) {
  return (width + lanes - 1) / lanes;
}

template <bool Transposed = false>
void matmul(long M, long N, long K, const float* a, long lda, const float* b, long ldb, long panel_stride, float* c,
            long ldc, bool add) {
  for_each_tile_of_panels<tile_panels>(
      M, N, K, b, ldb, panel_stride, [](long width) { return tile_rows(static_cast<int>(vectors_of(width))); },
      [&](long begin, long end, long n, long width, const float* panels, Prefetch<float> prefetch) {
        const MatmulTile tile = matmul_tiles<Transposed>.of[vectors_of(width) - 1][end - begin - 1];
        tile(K, a + (Transposed ? begin : begin * lda), lda, panels, ldb, panel_stride, c + begin * ldc + n, ldc, add,
             width, prefetch);
      });
}

constexpr auto matmul_transposed_a = matmul<true>;

/// c (Panels panel_width) = a (K) times whole panels of B, or += if `add`.
template <int Panels>
inline void matvec_panels(long K, const float* a, const float* b, long ldb, long panel_stride, float* c, bool add) {
  Vector sums[2 * Panels]{};
  // The rows after the last row of these panels are those of the next panels.
  const long within = K > prefetch_rows ? K - prefetch_rows : 0, behind = (Panels - 1) * panel_stride;
  const float* ahead = b + prefetch_rows * ldb;
  for (long k = 0; k < K; ++k, b += ldb, ahead += ldb) {
    if (k == within) ahead += behind;
    const Vector left = splat(a[k]);
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      __builtin_prefetch(ahead + p * panel_stride);
      __builtin_prefetch(ahead + p * panel_stride + lanes);
      sums[2 * p] += left * load(b + p * panel_stride);
      sums[2 * p + 1] += left * load(b + p * panel_stride + lanes);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < 2 * Panels; ++v) store(c + v * lanes, add ? load(c + v * lanes) + sums[v] : sums[v]);
}

/// Declared in kernel_list.h.
void matvec(long N, long K, const float* a, const float* b, long ldb, long panel_stride, float* c, bool add) {
  long n = 0;
  for (; n + 4 * panel_width <= N; n += 4 * panel_width, b += 4 * panel_stride)
    matvec_panels<4>(K, a, b, ldb, panel_stride, c + n, add);
  for (; n + 2 * panel_width <= N; n += 2 * panel_width, b += 2 * panel_stride)
    matvec_panels<2>(K, a, b, ldb, panel_stride, c + n, add);
  if (n < N) matmul<false>(1, N - n, K, a, K, b, ldb, panel_stride, c + n, N, add);
}

/// Declared in kernel_list.h.
void pack(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, float* packed) {
  for (long p = first_panel; p < last_panel; ++p) {
    float* const to = packed + p * K * panel_width;
    const long begin = p * panel_width, width = N - begin < panel_width ? N - begin : panel_width;
    if (transposed) {
      transpose(width, K, b + begin * K, K, to, panel_width);
    } else {
      for (long k = 0; k < K; ++k)
        for_each_vector(width,
                        [&](long n, auto get, auto put) { put(to + k * panel_width + n, get(b + k * N + begin + n)); });
    }
    for (long k = 0; width < panel_width && k < K; ++k)
      for (long n = width; n < panel_width; ++n) to[k * panel_width + n] = 0;
  }
}

/// Fused multiply-adds on registers only: the peak arithmetic rate of this processor, to compare the other kernels
/// with.
double fma_loop(long rounds) {
  // Ten chains hide the latency of an addition on current processors; they start with different values, or the compiler
  // would merge them.
  Vector s0 = splat(0.01F), s1 = s0 + s0, s2 = s1 + s0, s3 = s2 + s0, s4 = s3 + s0, s5 = s4 + s0, s6 = s5 + s0,
         s7 = s6 + s0, s8 = s7 + s0, s9 = s8 + s0;
  const Vector a = splat(0.999F), b = splat(0.001F);
  for (long i = 0; i < rounds; ++i) {
    s0 = s0 * a + b, s1 = s1 * a + b, s2 = s2 * a + b, s3 = s3 * a + b, s4 = s4 * a + b;
    s5 = s5 * a + b, s6 = s6 * a + b, s7 = s7 * a + b, s8 = s8 * a + b, s9 = s9 * a + b;
  }
  volatile float used = reduce_add(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9);
  static_cast<void>(used);
  return static_cast<double>(rounds) * 10 * 2 * lanes;
}

}  // namespace
}  // namespace chargpt::cpu
