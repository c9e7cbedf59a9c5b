#include "evaluate/shared_text.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/quote.h"
#include "report/format.h"
#include "text/documents.h"

namespace chargpt {
namespace {

/// Spreads every input bit over all others: the finalizer of SplitMix64 (Steele et al., 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

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
      if (++seen >= length) visit(mix(hash));
    }
  });
}

/// Marks the tokens of `scored` in stretches that occur in `train`.
void mark_stretches(TokenView scored, TokenView train, std::vector<bool>& shared) {
  const std::int64_t length = std::min(shared_stretch, scored.size());
  if (2 * length < shared_stretch) return;
  std::vector<std::uint64_t> hashes;
  each_stretch(scored, length, [&](std::uint64_t hash) { hashes.push_back(hash); });
  std::ranges::sort(hashes);
  std::vector<bool> maybe(std::bit_ceil(32 * hashes.size())), met(hashes.size());  // indexed by the low bits; by index
  for (const std::uint64_t hash : hashes) maybe[hash & (maybe.size() - 1)] = true;
  const auto first_of = [&](std::uint64_t hash) {
    return static_cast<std::size_t>(std::ranges::lower_bound(hashes, hash) - hashes.begin());
  };
  each_stretch(train, length, [&](std::uint64_t hash) {
    if (!maybe[hash & (maybe.size() - 1)]) return;
    if (const std::size_t found = first_of(hash); found < hashes.size() && hashes[found] == hash) met[found] = true;
  });
  std::int64_t begin = 0, marked = 0;  // tokens before `marked` are done
  each_stretch(scored, length, [&](std::uint64_t hash) {
    if (met[first_of(hash)])
      for (marked = std::max(marked, begin); marked < begin + length; ++marked)
        shared[static_cast<std::size_t>(marked)] = true;
    ++begin;
  });
}

/// Documents may be shorter than a stretch, and have different neighbours in the two texts.
void mark_documents(TokenView scored, TokenView train, std::vector<bool>& shared) {
  if (scored.document() == TokenView::no_document) return;
  const KnownDocuments known(train);
  std::vector<std::int64_t> ids;
  each_document(scored, [&](std::int64_t begin, std::int64_t end) {
    ids.resize(static_cast<std::size_t>(end - begin));
    scored.copy(begin, end - begin, ids.data());
    if (known.contain(ids)) std::fill_n(shared.begin() + begin, end + 1 - begin, true);  // also the id that ends it
  });
}

}  // namespace

std::int64_t shared_tokens(TokenView scored, TokenView train) {
  std::vector<bool> shared(static_cast<std::size_t>(scored.size()));
  mark_stretches(scored, train, shared);
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
