#include "evaluate/ngram.h"

#include <map>

#include "base/error.h"
#include "base/random.h"
#include "base/token_view.h"
#include "evaluate/baseline.h"
#include "token_text.h"

namespace chargpt {
namespace {

using Losses = std::vector<double>;

/// A text over 'a', 'b', … as ids.
class Letters {
 public:
  explicit Letters(std::string_view text, char document = 0) : document_(document == 0 ? -1 : document - 'a') {
    for (const char letter : text) ids_.push_back(static_cast<std::uint8_t>(letter - 'a'));
  }
  TokenView view() const { return view_of(ids_, document_); }

 private:
  std::int64_t document_;
  std::vector<std::uint8_t> ids_;
};

Losses losses(std::string_view train, std::string_view split, std::int64_t symbols, std::int64_t block_size,
              int max_order) {
  const Letters counted(train), scored(split);
  return ngram_losses(counted.view(), symbols, {{scored.view(), block_size}}, max_order).front();
}

/// The recursion as it is written in ngram.h, on strings: slow and plain.
double probability(const std::string& train, const std::string& context, char letter, double symbols,
                   char document = 0) {
  const double shorter =
      context.empty() ? 1 / symbols : probability(train, context.substr(1), letter, symbols, document);
  if (context.find(document, 1) != std::string::npos) return shorter;
  std::map<char, int> followers;
  int tokens = 0;
  for (std::size_t at = 0; at + context.size() < train.size(); ++at) {
    const char follower = train[at + context.size()];
    if (train.compare(at, context.size(), context) == 0) ++followers[follower], ++tokens;
  }
  if (tokens == 0) return shorter;
  const double distinct = static_cast<double>(followers.size());
  return (followers[letter] + distinct * shorter) / (tokens + distinct);
}

/// Start of the window that scores this target.
std::size_t window_of(std::size_t target, const WindowCut& cut) {
  std::int64_t number = 0;
  while (static_cast<std::int64_t>(target) > cut[number].begin + cut[number].to) ++number;
  return static_cast<std::size_t>(cut[number].begin);
}

double plain_loss(const std::string& train, const std::string& split, double symbols, const WindowCut& cut,
                  std::size_t order, char document) {
  double sum = 0;
  for (std::size_t target = 1; target < split.size(); ++target) {
    const std::size_t length = std::min(order - 1, target - window_of(target, cut));
    sum -= std::log(probability(train, split.substr(target - length, length), split[target], symbols, document));
  }
  return sum / static_cast<double>(split.size() - 1);
}

}  // namespace

TEST_CASE("orders 1 and 2 on a text that fits in the head") {
  // Train "aab" of 4 symbols: p1(a) = (2 + 2/4) / (3 + 2) = 1/2, p1(b) = (1 + 2/4) / 5 = 3/10;
  // after a came a once and b once: p2(b | a) = (1 + 2 * 3/10) / (2 + 2) = 2/5; nothing came after b: p2(a | b) =
  // p1(a).
  const Losses figures = losses("aab", "aba", 4, 8, 2);
  CHECK(figures[0] == Approx((-std::log(0.3) - std::log(0.5)) / 2));
  CHECK(figures[1] == Approx((-std::log(0.4) - std::log(0.5)) / 2));
}

TEST_CASE("losses are the plain recursion's on random texts and documents, for every order, cut and overlap") {
  RandomStream random(5, Purpose::windows);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t symbols = 1 + random.below(4);
    const std::string train = random_letters(random, random.below(60), symbols);
    const std::string split = random_letters(random, 2 + random.below(25), symbols + 1);
    const auto length = 1 + static_cast<std::int64_t>(random.below(12));
    const auto stride = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(length)));
    const char document = round % 2 == 0 ? 'a' : '\0';  // the letter between documents
    const Letters counted(train, document), scored(split, document);
    const WindowCut cut(scored.view(), length, stride);
    const Losses figures = ngram_losses(counted.view(), static_cast<std::int64_t>(symbols + 1), {cut}, 6).front();
    for (std::size_t order = 1; order <= 6; ++order)
      CHECK(figures[order - 1] ==
            Approx(plain_loss(train, split, static_cast<double>(symbols + 1), cut, order, document)));
  }
}

TEST_CASE("a vocabulary of 32768 symbols is counted like a small one") {
  // The same text over other ids: the numbers of the symbols make no difference, only how many there are.
  const std::vector<std::uint16_t> train = {0, 32767, 0, 32767, 100, 0}, split = {0, 32767, 100};
  const Losses wide = ngram_losses(view_of(train), 32768, {{view_of(split), 8}}, 4).front();
  const Losses narrow = losses("abacca", "abc", 32768, 8, 4);
  CHECK(losses("ababca", "abc", 32768, 8, 4) == wide);
  CHECK(narrow != wide);
}

TEST_CASE("a split without a target is refused") {
  CHECK_THROWS_WITH(losses("ab", "", 2, 8, 2), "a split of 0 tokens is too short; at least 2 tokens are needed");
  CHECK_THROWS_WITH(losses("ab", "a", 2, 8, 2), "a split of 1 tokens is too short; at least 2 tokens are needed");
  CHECK_NOTHROW(losses("ab", "ab", 2, 8, 2));
}

}  // namespace chargpt
