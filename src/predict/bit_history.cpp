#include "predict/bit_history.h"

#include <algorithm>

namespace chargpt {
namespace {

constexpr std::int32_t most_of_one = 24, most_of_both = 27;  // 239 states

BitHistories::State after(const BitHistories::State& state, bool bit) {
  std::int32_t same = bit ? state.ones : state.zeros, other = bit ? state.zeros : state.ones;
  same = std::min(same + 1, most_of_one);
  if (other > 2) other = std::min((other + 3) / 2, other - 1);
  while (same + other > most_of_both) other > 0 ? --other : --same;
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

}  // namespace chargpt
