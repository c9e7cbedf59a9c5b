// How a matmul is cut into tiles, and which rows of B each of them prefetches. Compiled once per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

/// body(begin, end) for rows [0, n) in tiles of almost one height.
template <class Body>
inline void for_each_tile(long n, Body&& body) {
  const long count = (n + tile_rows - 1) / tile_rows;
  if (count == 0) return;
  const long least = n / count, larger = n % count;
  for (long tile = 0, begin = 0; tile < count; ++tile) {
    const long end = begin + least + (tile < larger ? 1 : 0);
    body(begin, end);
    begin = end;
  }
}

/// Rows of B that will be read soon. A tile asks for them, and for its own of C, between its sums: all at once they
/// would take every place that the processor has for lines under way, and the sums would wait.
template <class Element>
struct Soon {
  const Element* row;
  long count;  ///< for each row of the tile
};

/// body(begin, end, n, b, soon) for the tiles of C (rows, columns): rows [begin, end), columns from n on, with B's
/// panel (depth, 2 vectors). The tiles of one panel ask for the rows of the next.
template <class Element, class Body>
inline void for_each_tile_of_panels(long rows, long columns, long depth, const Element* b, long ldb, long panel_stride,
                                    Body&& body) {
  const long share = rows > 0 ? (depth + rows - 1) / rows : 0;
  for (long n = 0; n < columns; n += 2 * lanes, b += panel_stride) {
    const bool last = n + 2 * lanes >= columns;
    for_each_tile(rows, [&](long begin, long end) {
      const bool asks = !last && end * share <= depth;
      body(begin, end, n, b, Soon<Element>{b + panel_stride + begin * share * ldb, asks ? share : 0});
    });
  }
}

}  // namespace
}  // namespace chargpt::cpu
