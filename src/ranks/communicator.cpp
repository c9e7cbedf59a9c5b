#include "ranks/communicator.h"

#include <algorithm>

namespace chargpt {

bool on_any(Communicator& ranks, bool here) {
  if (ranks.alone()) return here;
  const std::vector<char> all = gathered<char>(ranks, here ? 1 : 0);
  return std::ranges::count(all, 1) > 0;
}

Part part_of(std::int64_t n, std::int64_t parts, std::int64_t index) {
  const std::int64_t least = n / parts, rest = n % parts;
  return {index * least + std::min(index, rest), least + (index < rest ? 1 : 0)};
}

}  // namespace chargpt
