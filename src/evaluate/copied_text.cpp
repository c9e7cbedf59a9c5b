#include "evaluate/copied_text.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "evaluate/shared_text.h"

namespace chargpt {

CopiedText::CopiedText(std::span<const std::vector<std::int64_t>> texts, TokenView source) : source_(source) {
  for (const std::vector<std::int64_t>& text : texts) {
    joined_.insert(joined_.end(), text.begin(), text.end());
    joined_.push_back(std::numeric_limits<std::uint32_t>::max());
    sizes_.push_back(std::ssize(text));
  }
}

double CopiedText::copied_share(std::int64_t length) const {
  const auto all = std::reduce(sizes_.begin(), sizes_.end());
  const auto copied = std::ranges::count(tokens_in_copies(text(), source_, length), true);
  return all == 0 ? 0 : static_cast<double>(copied) / static_cast<double>(all);
}

CopiedText::Copy CopiedText::first_copy(std::int64_t length) const {
  Copy copy;
  find_stretches(text(), source_, length, [&](std::int64_t begin, std::int64_t found) {
    if (found < 0 || !copy.ids.empty()) return;
    copy = {.ids = {joined_.begin() + begin, joined_.begin() + begin + length}, .source_begin = found};
  });
  return copy;
}

/// A stretch that occurs contains shorter ones that do, so the length is found by halving.
CopiedText::Copy CopiedText::longest() const {
  Copy longest;
  std::int64_t most = sizes_.empty() ? 0 : std::ranges::max(sizes_);
  while (longest.length() < most) {
    const std::int64_t length = (longest.length() + most + 1) / 2;
    if (Copy copy = first_copy(length); copy.length() > 0)
      longest = std::move(copy);
    else
      most = length - 1;
  }
  return longest;
}

}  // namespace chargpt
