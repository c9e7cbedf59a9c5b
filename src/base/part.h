// Divides a range into nearly equal parts, for threads and processes that share work.
#pragma once

#include <algorithm>
#include <cstdint>

namespace chargpt {

/// Part `index` of [0, n) divided into `parts`. Sizes differ by at most one; the larger parts come first.
struct Part {
  std::int64_t begin = 0, size = 0;
};
inline Part part_of(std::int64_t n, std::int64_t parts, std::int64_t index) {
  const std::int64_t least = n / parts, rest = n % parts;
  return {index * least + std::min(index, rest), least + (index < rest ? 1 : 0)};
}

}  // namespace chargpt
