#include "evaluate/copied_text.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "evaluate/shared_text.h"

namespace chargpt {
namespace {

/// Sets `longest` and `source_begin` to the first stretch of `length` tokens that occurs. Returns false if none does.
bool find_first(TokenView text, TokenView source, std::int64_t length, CopiedText& copied) {
  bool occurs = false;
  find_stretches(text, source, length, [&](std::int64_t begin, std::int64_t found) {
    if (found < 0 || std::exchange(occurs, true)) return;
    copied.longest = text.slice(begin, length).ids();
    copied.source_begin = found;
  });
  return occurs;
}

}  // namespace

CopiedText copied_text(std::span<const std::vector<std::int64_t>> texts, TokenView source, std::int64_t length) {
  std::vector<std::uint32_t> joined;  // the texts, each followed by an id that the source cannot have
  std::int64_t tokens = 0, most = 0;
  for (const std::vector<std::int64_t>& text : texts) {
    joined.insert(joined.end(), text.begin(), text.end());
    joined.push_back(std::numeric_limits<std::uint32_t>::max());
    tokens += std::ssize(text);
    most = std::max(most, std::ssize(text));
  }
  const TokenView all(joined.data(), sizeof joined[0], std::ssize(joined));
  CopiedText copied;
  const auto in_copies = std::ranges::count(tokens_in_copies(all, source, length), true);
  if (tokens > 0) copied.share = static_cast<double>(in_copies) / static_cast<double>(tokens);
  // A stretch that occurs contains shorter ones that do, so the length is found by halving.
  while (std::ssize(copied.longest) < most) {
    const std::int64_t middle = (std::ssize(copied.longest) + most + 1) / 2;
    if (!find_first(all, source, middle, copied)) most = middle - 1;
  }
  return copied;
}

}  // namespace chargpt
