// How a matmul is split into tiles, and which rows of B each tile prefetches. Compiled once per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

constexpr int panel_vectors = 2;
constexpr long panel_width = panel_vectors * lanes;  ///< columns of a packed panel of B

/// Most rows of a tile that is `columns` vectors wide: its sums, a row of B and one number of A must fit in the
/// registers. Tiles of more than 14 rows would save little.
constexpr int tile_rows(int columns) {
#if defined(__aarch64__)
  const int rows = (registers - columns) / (columns + 1);  // compilers load the numbers of A for all rows at once
#else
  const int rows = (registers - 1) / columns - 1;
#endif
  return rows < 14 ? rows : 14;
}

/// How many rows ahead B is prefetched: it is in the L3 cache or in memory.
constexpr long prefetch_rows = 16;
/// With 16 registers a tile has too little arithmetic to hide the prefetch instructions.
constexpr bool tiles_prefetch_rows = registers == 32;

/// Calls body(begin, end) for rows [0, n) in tiles of at most `most` rows, whose heights differ by at most 1.
template <class Body>
inline void for_each_tile(long n, long most, Body&& body) {
  const long count = (n + most - 1) / most;
  if (count == 0) return;
  const long height = n / count, taller = n % count;
  for (long tile = 0, begin = 0; tile < count; ++tile) {
    const long end = begin + height + (tile < taller ? 1 : 0);
    body(begin, end);
    begin = end;
  }
}

/// Rows of B that the next tiles read. A tile spreads these prefetches, and those of its rows of C, over its sums:
/// together they would use all line fill buffers of the processor, and the sums would wait.
template <class Element>
struct Prefetch {
  const Element* row;
  long count;  ///< for each row of the tile
};

/// Calls body(begin, end, n, width, b, prefetch) for each tile of C (M, N): rows [begin, end), columns [n, n + width),
/// with at most `Panels` panels (K, panel_width) of B, which start at b. rows(width): most rows of a tile of that
/// width. Tiles prefetch rows of the panels that follow theirs.
template <int Panels, class Element, class Rows, class Body>
inline void for_each_tile_of_panels(long M, long N, long K, const Element* b, long ldb, long panel_stride, Rows&& rows,
                                    Body&& body) {
  constexpr long step = Panels * panel_width;
  const long rows_per_row = M > 0 ? (K + M - 1) / M : 0;  // of the next panels, for each row of C
  for (long n = 0; n < N; n += step, b += Panels * panel_stride) {
    const bool last = n + step >= N;
    const long width = last ? N - n : step;
    for_each_tile(M, rows(width), [&](long begin, long end) {
      const bool prefetches = !last && end * rows_per_row <= K;
      body(begin, end, n, width, b,
           Prefetch<Element>{b + Panels * panel_stride + begin * rows_per_row * ldb, prefetches ? rows_per_row : 0});
    });
  }
}

}  // namespace
}  // namespace chargpt::cpu
