#include "predict/context_table.h"

namespace chargpt {

ContextTable::ContextTable(std::int64_t entries)
    : count_(static_cast<std::uint64_t>(entries) / places + 1),
      memory_(static_cast<std::int64_t>(count_ * sizeof(Group) / sizeof(float))) {}

std::int64_t ContextTable::find(std::uint64_t key) const {
  const std::size_t group = group_of(key);
  const std::uint16_t check = check_of(key);
  const std::array<Seen, places>& seen = groups()[group].seen;
  for (std::size_t place = 0; place < places; ++place)
    if (seen[place].check == check) return static_cast<std::int64_t>(group * stride + place);
  return -1;
}

std::int64_t ContextTable::find_or_add(std::uint64_t key, Undo& undo) {
  if (const std::int64_t found = find(key); found >= 0) return found;
  const std::size_t group = group_of(key);
  const std::array<Seen, places>& seen = groups()[group].seen;
  std::size_t least = 0;
  for (std::size_t place = 1; place < places; ++place)
    if (seen[place].bits < seen[least].bits) least = place;
  const auto place = static_cast<std::int64_t>(group * stride + least);
  undo.changing((*this)[place]) = {.check = check_of(key), .p = 1 << 15};
  return place;
}

}  // namespace chargpt
