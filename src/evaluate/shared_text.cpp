#include "evaluate/shared_text.h"

#include <algorithm>
#include <bit>

#include "base/quote.h"
#include "predict/context_table.h"
#include "report/format.h"
#include "text/documents.h"

namespace chargpt {
namespace {

/// Calls visit(hash) for each stretch of `length` tokens, in order.
template <class Visit>
void each_stretch(TokenView tokens, std::int64_t length, const Visit& visit) {
  constexpr std::uint64_t base = 0x9E3779B97F4A7C15u;
  std::uint64_t leaving = 1, hash = 0;  // base^length; the sum of token times base^(tokens after it)
  for (std::int64_t i = 0; i < length; ++i) leaving *= base;
  std::vector<std::uint64_t> last(static_cast<std::size_t>(length));  // ring buffer of a stretch: tokens plus 1
  std::size_t place = 0;
  std::int64_t seen = 0;
  tokens.each_run([&](std::span<const std::int64_t> run) {
    for (const std::int64_t id : run) {
      const auto enters = static_cast<std::uint64_t>(id + 1);
      hash = hash * base + enters - last[place] * leaving;
      last[place] = enters;
      place = place + 1 == last.size() ? 0 : place + 1;
      if (++seen >= length) visit(mixed_bits(hash));
    }
  });
}

/// Documents may be shorter than a stretch, and have different neighbours in the two texts.
void mark_documents(TokenView scored, TokenView train, std::vector<bool>& shared) {
  if (scored.document() == TokenView::no_document) return;
  const KnownDocuments known(train);
  each_document(scored, [&](std::int64_t begin, std::int64_t end) {
    if (!known.contain(scored.slice(begin, end - begin).ids())) return;
    std::fill_n(shared.begin() + begin, end + 1 - begin, true);  // also the id that ends it
  });
}

}  // namespace

void find_stretches(TokenView text, TokenView source, std::int64_t length,
                    const std::function<void(std::int64_t begin, std::int64_t found)>& visit) {
  std::vector<std::uint64_t> hashes;
  each_stretch(text, length, [&](std::uint64_t hash) { hashes.push_back(hash); });
  std::ranges::sort(hashes);
  std::vector<bool> maybe(std::bit_ceil(32 * hashes.size()));  // indexed by the low bits
  std::vector<std::int64_t> first(hashes.size(), -1);
  for (const std::uint64_t hash : hashes) maybe[hash & (maybe.size() - 1)] = true;
  const auto index_of = [&](std::uint64_t hash) {
    return static_cast<std::size_t>(std::ranges::lower_bound(hashes, hash) - hashes.begin());
  };
  std::int64_t begin = 0;
  each_stretch(source, length, [&](std::uint64_t hash) {
    const std::int64_t here = begin++;
    if (!maybe[hash & (maybe.size() - 1)]) return;
    const std::size_t index = index_of(hash);
    if (index < hashes.size() && hashes[index] == hash && first[index] < 0) first[index] = here;
  });
  begin = 0;
  each_stretch(text, length, [&](std::uint64_t hash) { visit(begin++, first[index_of(hash)]); });
}

std::vector<bool> tokens_in_copies(TokenView text, TokenView source, std::int64_t length) {
  std::vector<bool> copied(static_cast<std::size_t>(text.size()));
  std::int64_t marked = 0;  // tokens before it are done
  find_stretches(text, source, length, [&](std::int64_t begin, std::int64_t found) {
    if (found < 0) return;
    for (marked = std::max(marked, begin); marked < begin + length; ++marked)
      copied[static_cast<std::size_t>(marked)] = true;
  });
  return copied;
}

std::int64_t shared_tokens(TokenView scored, TokenView train) {
  std::vector<bool> shared(static_cast<std::size_t>(scored.size()));
  if (const std::int64_t length = std::min(shared_stretch, scored.size()); 2 * length >= shared_stretch)
    shared = tokens_in_copies(scored, train, length);
  mark_documents(scored, train, shared);
  return std::ranges::count(shared, true);
}

std::string shared_text_line(double part, Units units, const std::string& text, const std::string& in) {
  if (part < least_shared_part) return "";
  return line_of(format_percent(std::clamp(part, 0.01, part < 1 ? 0.99 : 1.0), 0), " of ", text,
                 " also appears in the ", in, " (in stretches of ", shared_stretch, " ", enum_name(units),
                 " or more), so there the losses measure memorization, not prediction");
}

std::string shared_text_line(TokenView scored, TokenView train, Units units, const std::string& text) {
  const auto shared = static_cast<double>(shared_tokens(scored, train));
  return shared_text_line(shared / static_cast<double>(scored.size()), units, text, "training text");
}

}  // namespace chargpt
