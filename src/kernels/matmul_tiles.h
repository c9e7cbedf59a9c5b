// How a matmul is cut into tiles, and which rows of B each of them prefetches. Compiled once per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

constexpr long panel_width = 2 * lanes;  ///< columns of a packed panel of B

/// body(begin, end) for rows [0, n) in tiles of almost one height.
template <class Body>
inline void for_each_tile(long n, Body&& body) {
  const long count = (n + tile_rows - 1) / tile_rows;
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

/// body(begin, end, n, b, prefetch) for the tiles of C (M, N): rows [begin, end), columns from n on, with B's panel
/// (K, panel_width). The tiles of one panel prefetch the rows of the next.
template <class Element, class Body>
inline void for_each_tile_of_panels(long M, long N, long K, const Element* b, long ldb, long panel_stride,
                                    Body&& body) {
  const long rows_per_row = M > 0 ? (K + M - 1) / M : 0;  // of the next panel, for each row of C
  for (long n = 0; n < N; n += panel_width, b += panel_stride) {
    const bool last = n + panel_width >= N;
    for_each_tile(M, [&](long begin, long end) {
      const bool prefetches = !last && end * rows_per_row <= K;
      body(begin, end, n, b,
           Prefetch<Element>{b + panel_stride + begin * rows_per_row * ldb, prefetches ? rows_per_row : 0});
    });
  }
}

}  // namespace
}  // namespace chargpt::cpu
