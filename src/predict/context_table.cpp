#include "predict/context_table.h"

namespace chargpt {
namespace {

constexpr std::int32_t most_of_one = 24;  // 239 states: at most 26 bits in each

BitHistories::State after(const BitHistories::State& state, bool bit) {
  std::int32_t same = bit ? state.ones : state.zeros, other = bit ? state.zeros : state.ones;
  same = std::min(same + 1, most_of_one);
  if (other > 2) other = std::min((other + 3) / 2, other - 1);
  return {bit ? other : same, bit ? same : other, bit};
}

}  // namespace

BitHistories::BitHistories() : states_{{0, 0, false}} {
  const auto number_of = [&](const State& state) {
    const auto found = std::ranges::find(states_, state);
    const auto number = static_cast<std::uint8_t>(found - states_.begin());
    if (found == states_.end()) states_.push_back(state);
    return number;
  };
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State state = states_[i];
    const std::uint8_t zero = number_of(after(state, false));
    next_.push_back({zero, number_of(after(state, true))});
  }
}

ContextTable::ContextTable(std::int64_t entries)
    : count_(static_cast<std::uint64_t>(entries) / places + 1),
      memory_(static_cast<std::int64_t>(count_ * sizeof(Group) / sizeof(float))) {}

std::int64_t ContextTable::find(std::uint64_t key) const {
  const std::size_t group = group_of(key);
  const std::uint16_t check = check_of(key);
  const std::array<std::uint16_t, places>& checks = groups()[group].checks;
  for (std::size_t place = 0; place < places; ++place)
    if (checks[place] == check) return static_cast<std::int64_t>(group * stride + place);
  return -1;
}

std::int64_t ContextTable::find_or_add(std::uint64_t key) {
  if (const std::int64_t found = find(key); found >= 0) return found;
  const std::size_t at = group_of(key);
  Group& group = groups()[at];
  const auto least = std::ranges::min_element(group.seen, {}, &Seen::bits) - group.seen.begin();
  group.checks[static_cast<std::size_t>(least)] = check_of(key);
  group.seen[static_cast<std::size_t>(least)] = {.p = 1 << 15};
  return static_cast<std::int64_t>(at * stride) + least;
}

}  // namespace chargpt
