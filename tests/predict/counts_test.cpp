// Counts as distributions, against the recursion written out on strings.
#include "predict/counts.h"

#include <cmath>
#include <map>
#include <string>

#include "base/random.h"
#include "test.h"

namespace chargpt {
namespace {

using Ids = std::vector<std::int64_t>;

std::vector<std::uint8_t> stored(const std::string& text) {
  std::vector<std::uint8_t> ids;
  for (const char letter : text) ids.push_back(static_cast<std::uint8_t>(letter - 'a'));
  return ids;
}

Counts counts_of(const std::string& text, std::int64_t symbols) {
  const std::vector<std::uint8_t> ids = stored(text);
  return Counts({TokenView(ids.data(), 1, std::ssize(ids))}, symbols);
}

/// The recursion of baseline/ngram.h: slow and plain.
double probability(const std::string& train, const std::string& context, char letter, double symbols) {
  const double shorter = context.empty() ? 1 / symbols : probability(train, context.substr(1), letter, symbols);
  std::map<char, int> followers;
  int tokens = 0;
  for (std::size_t at = 0; at + context.size() < train.size(); ++at)
    if (train.compare(at, context.size(), context) == 0) ++followers[train[at + context.size()]], ++tokens;
  if (tokens == 0) return shorter;
  const auto distinct = static_cast<double>(followers.size());
  return (followers[letter] + distinct * shorter) / (tokens + distinct);
}

}  // namespace

TEST_CASE("log-probabilities of every order are the recursion's, and those of all symbols sum to one") {
  RandomStream random(5, Purpose::windows);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t symbols = 2 + static_cast<std::int64_t>(random.below(4));
    std::string train(random.below(80), 'a'), before(random.below(12), 'a');
    for (char& letter : train) letter = static_cast<char>('a' + random.below(static_cast<std::uint64_t>(symbols - 1)));
    for (char& letter : before) letter = static_cast<char>('a' + random.below(static_cast<std::uint64_t>(symbols)));
    const Counts counts = counts_of(train, symbols);
    const std::vector<std::uint8_t> small = stored(before);
    std::vector<float> logs(static_cast<std::size_t>(Counts::orders * symbols));
    const Counts::Match match = counts.log_probabilities(counts.state_of(Ids(small.begin(), small.end())), logs);
    for (int order = 1; order <= match.order; ++order) {
      const std::size_t length = std::min<std::size_t>(before.size(), static_cast<std::size_t>(order - 1));
      double sum = 0;
      for (std::int64_t v = 0; v < symbols; ++v) {
        const float found = logs[static_cast<std::size_t>((order - 1) * symbols + v)];
        sum += std::exp(found);
        CHECK(found == Approx(std::log(probability(train, before.substr(before.size() - length),
                                                   static_cast<char>('a' + v), static_cast<double>(symbols))))
                           .margin(1e-5));
      }
      CHECK(sum == Approx(1).margin(1e-5));
    }
    if (train.empty()) CHECK(match.order == 0);
  }
}

TEST_CASE("the longest context that was seen with something after it is the match") {
  const Counts counts = counts_of("abcabcabd", 5);
  std::vector<float> logs(Counts::orders * 5);
  const auto match_of = [&](const Ids& ids) { return counts.log_probabilities(counts.state_of(ids), logs); };
  CHECK(match_of({}).order == 1);
  CHECK(match_of({}).total == 9);
  CHECK(match_of({4}).order == 1);     // "e" was never seen
  CHECK(match_of({3}).order == 1);     // nothing came after "d"
  CHECK(match_of({2}).order == 2);     // after "c" came "a"
  CHECK(match_of({2}).distinct == 1);
  CHECK(match_of({0, 1}).order == 3);  // "ab", followed by c, c and d
  CHECK(match_of({0, 1}).total == 3);
  CHECK(match_of({0, 1}).distinct == 2);
  CHECK(match_of({4, 0, 1}).order == 3);
  CHECK(match_of({0, 1, 2, 0, 1, 2, 0, 1}).order == Counts::orders);  // no more than five symbols count
}

}  // namespace chargpt
