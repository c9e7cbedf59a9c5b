// How a matmul is cut into tiles, and which rows of B each of them prefetches. Compiled once per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

constexpr int panel_vectors = 2;
constexpr long panel_width = panel_vectors * lanes;  ///< columns of a packed panel of B

/// Rows of the highest tile of so many vectors' columns: its sums, a row of B and one number of A are all in registers.
/// Higher tiles than 14 would save little.
constexpr int tile_rows(int columns) {
#if defined(__aarch64__)
  const int rows = (registers - columns) / (columns + 1);  // compilers load the numbers of A for all rows at once
#else
  const int rows = (registers - 1) / columns - 1;
#endif
  return rows < 14 ? rows : 14;
}

/// How many rows ahead B is prefetched: it comes from the third cache or from memory.
constexpr long prefetch_rows = 16;
/// With 16 registers a tile has too little arithmetic to hide the instructions.
constexpr bool tiles_prefetch_rows = registers == 32;

/// body(begin, end) for rows [0, n) in tiles of almost one height, `most` rows or fewer.
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

/// Rows of B that will be read soon. A tile prefetches them, and its own of C, between its sums: all at once they would
/// take every line fill buffer of the processor, and the sums would wait.
template <class Element>
struct Prefetch {
  const Element* row;
  long count;  ///< for each row of the tile
};

/// body(begin, end, n, width, b, prefetch) for the tiles of C (M, N): rows [begin, end), `width` columns from n on,
/// with B's `Panels` panels (K, panel_width) or fewer from b on. rows(width): of the highest tile of that width. The
/// tiles of some panels prefetch the rows of the next.
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
