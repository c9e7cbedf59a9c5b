// Counts as a distribution, against the formula written out on strings.
#include "predict/counts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
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

Counts counts_of(const std::vector<std::string>& texts, std::int64_t symbols) {
  std::vector<std::vector<std::uint8_t>> all;
  for (const std::string& text : texts) all.push_back(stored(text));
  std::vector<TokenView> views;
  for (const auto& ids : all) views.push_back({ids.data(), 1, std::ssize(ids)});
  return {views, symbols};
}

std::vector<double> probabilities(const Counts& counts, const std::string& before) {
  const std::vector<std::uint8_t> ids = stored(before);
  std::vector<float> logs(static_cast<std::size_t>(counts.vocab_size()));
  counts.log_probabilities(counts.state_of(Ids(ids.begin(), ids.end())), logs);
  std::vector<double> p;
  for (const float log : logs) p.push_back(std::exp(log));
  return p;
}

/// Modified Kneser-Ney, slow and plain: how often each string was counted, by its length.
class Formula {
 public:
  Formula(const std::string& train, int orders, std::int64_t symbols) : symbols_(symbols) {
    for (int n = 1; n <= orders; ++n) {
      std::map<std::string, int>& counts = counts_[n];
      if (n == orders) {
        for (std::size_t i = 0; i + n <= train.size(); ++i) ++counts[train.substr(i, n)];
        continue;
      }
      std::map<std::string, std::set<char>> before;
      for (std::size_t i = 0; i + n <= train.size(); ++i) {
        std::set<char>& letters = before[train.substr(i, n)];
        if (i > 0) letters.insert(train[i - 1]);
      }
      for (const auto& [gram, letters] : before) counts[gram] = std::max<int>(1, static_cast<int>(letters.size()));
    }
  }
  double probability(const std::string& context, char letter) const {
    const double shorter =
        context.empty() ? 1.0 / static_cast<double>(symbols_) : probability(context.substr(1), letter);
    const auto& counts = counts_.at(static_cast<int>(context.size()) + 1);
    double all = 0, own = 0, left = 0;
    for (const auto& [gram, count] : counts) {
      if (!gram.starts_with(context)) continue;
      all += count;
      left += taken(counts, count);
      if (gram.back() == letter) own = count - taken(counts, count);
    }
    return all == 0 ? shorter : own / all + left / all * shorter;
  }

 private:
  static double taken(const std::map<std::string, int>& counts, int count) {
    const auto number_of = [&](int k) {
      return static_cast<double>(std::ranges::count_if(counts, [k](const auto& gram) { return gram.second == k; }));
    };
    const int k = std::min(count, 3);
    if (number_of(1) == 0 || number_of(k) == 0) return k / 2.0;
    const double y = number_of(1) / (number_of(1) + 2 * number_of(2));
    return std::clamp(k - (k + 1) * y * number_of(k + 1) / number_of(k), 0.1 * k, 1.0 * k);
  }
  std::int64_t symbols_;
  std::map<int, std::map<std::string, int>> counts_;
};

std::string random_letters(RandomStream& random, std::size_t length, std::uint64_t symbols) {
  std::string text(length, 'a');
  for (char& letter : text) letter = static_cast<char>('a' + std::min(random.below(symbols), random.below(symbols)));
  return text;
}

}  // namespace

TEST_CASE("probabilities are those of the formula, and all symbols' sum to one") {
  RandomStream random(5, Purpose::windows);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t symbols = 2 + random.below(5);
    const std::string train = random_letters(random, random.below(200), symbols),
                      before = random_letters(random, random.below(9), symbols + 1);
    const std::vector<double> p = probabilities(counts_of({train}, static_cast<std::int64_t>(symbols + 1)), before);
    const Formula formula(train, Counts::orders, static_cast<std::int64_t>(symbols + 1));
    const std::string context = before.substr(before.size() - std::min<std::size_t>(before.size(), Counts::orders - 1));
    for (std::size_t v = 0; v < p.size(); ++v)
      CHECK(p[v] == Approx(formula.probability(context, static_cast<char>('a' + v))).epsilon(1e-4));
    CHECK(std::accumulate(p.begin(), p.end(), 0.0) == Approx(1).margin(1e-5));
  }
}

TEST_CASE("no symbol is impossible, and nothing counted leaves all alike") {
  for (const double p : probabilities(counts_of({}, 4), "ab")) CHECK(p == Approx(0.25));
  for (const std::string train : {"a", "aaaaaaaaaa", "abababababab", "abcdabcd"})
    for (const std::string before : {"", "a", "ab", "e", "aaaaaaaa"}) {
      const std::vector<double> p = probabilities(counts_of({train}, 5), before);
      CHECK(*std::ranges::min_element(p) > 0);
      CHECK(std::accumulate(p.begin(), p.end(), 0.0) == Approx(1).margin(1e-5));
    }
}

TEST_CASE("nothing is counted across two texts, and no more than five symbols before one count") {
  const Counts apart = counts_of({"abababab", "cdcdcdcd"}, 5), joined = counts_of({"ababababcdcdcdcd"}, 5);
  CHECK(probabilities(apart, "b")[2] < probabilities(joined, "b")[2]);
  CHECK(probabilities(apart, "aababab") == probabilities(apart, "dababab"));
  CHECK(probabilities(apart, "ab") == probabilities(apart, "eab"));  // a context that was never seen is cut
}

}  // namespace chargpt
