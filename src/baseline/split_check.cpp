#include "baseline/split_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "base/quote.h"

namespace chargpt {
namespace {

constexpr std::int64_t train_parts = 9;
constexpr std::int64_t least_tokens = 1000, most_tokens = 200'000;  // of a part
constexpr std::int64_t stretches = 4;                               // that a longer part is sampled in
constexpr std::size_t classes = 256;                                // the most frequent symbols, and all others as one
constexpr std::size_t pieces = 64;  // that a part is cut into: every other one is a half
constexpr std::int64_t least_lines = 50;

// Measured on ordinary texts, pairs of unlike ones and sorted lists: README.md.
constexpr double far = 0.5;    ///< a distance at which any held-out part differs
constexpr double clear = 0.2;  ///< one at which it differs if the train part is more alike:
constexpr double times_median = 1.5;
constexpr double clear_if_sorted = 0.1;
constexpr double sorted_share = 0.95;  ///< of neighbouring lines that are in order

using Symbols = std::vector<std::uint8_t>;  ///< classes of symbols

/// A part of the text: all of it, or stretches of it at even distances.
std::vector<std::int64_t> sampled(TokenView part) {
  const std::int64_t count = std::min(part.size(), most_tokens), length = count / stretches;
  std::vector<std::int64_t> ids(static_cast<std::size_t>(length * stretches));
  for (std::int64_t i = 0; i < stretches; ++i)
    part.copy((part.size() - length) * i / (stretches - 1), length, ids.data() + i * length);
  return ids;
}

/// Class of each symbol, by id.
std::vector<std::uint8_t> classes_of(const std::vector<std::vector<std::int64_t>>& parts, std::int64_t vocab_size) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocab_size), 0), order(counts.size());
  for (const auto& part : parts)
    for (const std::int64_t id : part) ++counts[static_cast<std::size_t>(id)];
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  std::vector<std::uint8_t> class_of(counts.size(), classes - 1);
  for (std::size_t rank = 0; rank < std::min(order.size(), classes - 1); ++rank)
    class_of[static_cast<std::size_t>(order[rank])] = static_cast<std::uint8_t>(rank);
  return class_of;
}

/// How often each symbol follows each other one: (classes, classes).
struct Pairs {
  std::vector<double> counts = std::vector<double>(classes * classes, 0);

  void count(const std::uint8_t* first, const std::uint8_t* end) {
    for (; first + 1 < end; ++first) ++counts[first[0] * classes + first[1]];
  }
  Pairs& operator+=(const Pairs& other) {
    std::ranges::transform(counts, other.counts, counts.begin(), std::plus<>());
    return *this;
  }
  double total() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }
};

/// p(next | previous): (classes, classes).
using Probabilities = std::vector<double>;

/// One more order of Witten-Bell (see ngram.h) on top of `lower`.
Probabilities interpolated(const Pairs& pairs, Probabilities lower) {
  for (std::size_t row = 0; row < classes * classes; row += classes) {
    const auto begin = pairs.counts.begin() + static_cast<std::ptrdiff_t>(row);
    const double tokens = std::accumulate(begin, begin + classes, 0.0);
    const auto distinct = static_cast<double>(std::count_if(begin, begin + classes, [](double c) { return c > 0; }));
    if (distinct == 0) continue;
    for (std::size_t i = row; i < row + classes; ++i)
      lower[i] = (pairs.counts[i] + distinct * lower[i]) / (tokens + distinct);
  }
  return lower;
}

/// Of single symbols, the same in every row.
Probabilities unigram(const Pairs& pairs, double symbols) {
  std::array<double, classes> counts{};
  for (std::size_t i = 0; i < pairs.counts.size(); ++i) counts[i % classes] += pairs.counts[i];
  const double tokens = std::accumulate(counts.begin(), counts.end(), 0.0);
  const auto distinct = static_cast<double>(std::ranges::count_if(counts, [](double c) { return c > 0; }));
  Probabilities all(classes * classes);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = (counts[i % classes] + distinct / symbols) / (tokens + distinct);
  return all;
}

/// Sum of -ln p over the pairs.
double nats(const Pairs& pairs, const Probabilities& probabilities) {
  double sum = 0;
  for (std::size_t i = 0; i < pairs.counts.size(); ++i)
    if (pairs.counts[i] > 0) sum -= pairs.counts[i] * std::log(probabilities[i]);
  return sum;
}

struct Part {
  Pairs all;
  std::array<Pairs, 2> halves;  ///< of alternate pieces
};

Part counted(const Symbols& symbols) {
  Part part;
  part.all.count(symbols.data(), symbols.data() + symbols.size());
  for (std::size_t i = 0; i < pieces; ++i)
    part.halves[i % 2].count(symbols.data() + symbols.size() * i / pieces,
                             symbols.data() + symbols.size() * (i + 1) / pieces);
  return part;
}

struct Distance {
  double distance = 0, loss = 0;
};

Distance distance_of(std::size_t which, const std::vector<Part>& parts, double symbols) {
  std::array<Pairs, 3> thirds;  // of the rest
  Pairs rest;
  for (std::size_t i = 0, place = 0; i < parts.size(); ++i) {
    if (i == which) continue;
    thirds[3 * place++ / (parts.size() - 1)] += parts[i].all;
    rest += parts[i].all;
  }
  const Part& part = parts[which];
  const auto model = [&](const Pairs& pairs) { return interpolated(pairs, unigram(pairs, symbols)); };
  const Probabilities of_rest = model(rest);
  double by_rest = 0, by_own = 0, by_thirds = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    by_rest += nats(part.halves[half], of_rest);
    by_own += nats(part.halves[half], interpolated(part.halves[1 - half], of_rest));
  }
  for (const Pairs& third : thirds) by_thirds += nats(part.all, model(third)) / 3;
  const double pairs = part.all.total(), loss = nats(part.all, of_rest) / pairs;
  const double gain = std::max(0.0, by_rest - by_own) / (part.halves[0].total() + part.halves[1].total());
  const double best = loss - gain;  // 0 of a text of one symbol, whose parts are alike
  return {best > 0 ? by_thirds / pairs / best - 1 : 0, loss};
}

using Line = std::vector<char32_t>;

/// Counts neighbouring lines that rise and that fall.
struct Order {
  std::int64_t rising = 0, falling = 0;
  void compare(const Line& before, const Line& line) {
    rising += before < line;
    falling += before > line;
  }
  bool sorted() const {
    const std::int64_t all = rising + falling;
    return all >= least_lines &&
           static_cast<double>(std::max(rising, falling)) >= sorted_share * static_cast<double>(all);
  }
};

/// By code points, or with capital letters of ASCII taken as small ones.
bool is_sorted(const std::vector<std::vector<std::int64_t>>& parts, const Vocabulary& vocabulary) {
  const std::int64_t line_end = vocabulary.id_of('\n');
  Order exact, folded;
  for (const auto& part : parts) {
    Line line, before, line_folded, before_folded;
    for (const std::int64_t id : part) {
      if (id != line_end) {
        const char32_t symbol = vocabulary.code_point(id);
        line.push_back(symbol);
        line_folded.push_back(symbol >= 'A' && symbol <= 'Z' ? symbol + ('a' - 'A') : symbol);
        continue;
      }
      if (!before.empty() && !line.empty()) exact.compare(before, line), folded.compare(before_folded, line_folded);
      before = std::exchange(line, {});
      before_folded = std::exchange(line_folded, {});
    }
  }
  return exact.sorted() || folded.sorted();
}

/// Of a text that is one: nearly all of its lines are a word or a few, and hardly any is blank.
bool is_list(const Corpus& corpus) {
  constexpr std::int64_t looked_at = 100'000, fewest_lines = 100, most_symbols = 40, most_spaces = 2;
  constexpr double nearly_all = 0.97;
  const std::int64_t newline = corpus.vocabulary().id_of('\n'), space = corpus.vocabulary().id_of(' ');
  if (corpus.documents().count > 0 || newline < 0) return false;
  std::int64_t lines = 0, items = 0, symbols = 0, spaces = 0;
  for (std::int64_t i = 0; i < std::min(corpus.train().size(), looked_at); ++i) {
    const std::int64_t id = corpus.train()[i];
    if (id != newline) {
      ++symbols;
      spaces += id == space ? 1 : 0;
      continue;
    }
    ++lines;
    items += symbols > 0 && symbols <= most_symbols && spaces <= most_spaces ? 1 : 0;
    symbols = spaces = 0;
  }
  return lines >= fewest_lines && static_cast<double>(items) >= nearly_all * static_cast<double>(lines);
}

std::string fixed(double value) {
  return formatted("%.2f", value);
}

std::string percent(double value) {
  return std::to_string(std::lround(100 * value)) + " %";
}

}  // namespace

bool SplitCheck::differs() const {
  if (sorted) return held_out >= clear_if_sorted;
  return held_out >= far || (held_out >= clear && held_out >= times_median * median);
}

std::optional<SplitCheck> check_split(const Corpus& corpus) {
  const TokenView train = corpus.train(), val = corpus.val();
  if (corpus.documents().count > 0) return std::nullopt;  // drawn from the whole text
  if (train.size() < train_parts * least_tokens || val.size() < least_tokens) return std::nullopt;
  std::vector<std::vector<std::int64_t>> ids;
  for (std::int64_t i = 0; i < train_parts; ++i) {
    const std::int64_t begin = train.size() * i / train_parts, end = train.size() * (i + 1) / train_parts;
    ids.push_back(sampled(train.slice(begin, end - begin)));
  }
  ids.push_back(sampled(val));
  const std::vector<std::uint8_t> class_of = classes_of(ids, corpus.vocabulary().size());
  std::vector<Part> parts;
  for (const auto& part : ids) {
    Symbols symbols;
    for (const std::int64_t id : part) symbols.push_back(class_of[static_cast<std::size_t>(id)]);
    parts.push_back(counted(symbols));
  }
  const auto symbols = static_cast<double>(std::min<std::int64_t>(corpus.vocabulary().size(), classes));
  std::vector<double> distances, losses;
  for (std::size_t i = 0; i < train_parts; ++i) {
    const Distance one = distance_of(i, parts, symbols);
    distances.push_back(one.distance);
    losses.push_back(one.loss);
  }
  const Distance held_out = distance_of(train_parts, parts, symbols);
  std::ranges::sort(distances);
  const auto [least_loss, most_loss] = std::ranges::minmax(losses);
  return SplitCheck{.held_out = held_out.distance,
                    .least = distances.front(),
                    .median = distances[train_parts / 2],
                    .most = distances.back(),
                    .loss = held_out.loss,
                    .least_loss = least_loss,
                    .most_loss = most_loss,
                    .sorted = is_sorted(ids, corpus.vocabulary())};
}

nlohmann::ordered_json to_json(const SplitCheck& check) {
  return {{"held_out", check.held_out}, {"train", {check.least, check.median, check.most}},
          {"loss", check.loss},         {"train_losses", {check.least_loss, check.most_loss}},
          {"sorted", check.sorted},     {"differs", check.differs()}};
}

std::string split_notice(const Corpus& corpus, const std::optional<SplitCheck>& check) {
  if (!check || !check->differs())
    return is_list(corpus) ? "the lines are short, as in a list: if each stands alone, --documents lines (as in the "
                             "preset names) lets the model learn where one begins and ends, and write new ones"
                           : "";
  const std::string share =
      percent(static_cast<double>(corpus.val_tokens()) / static_cast<double>(corpus.all().size()));
  const bool last = corpus.test_tokens() == 0;
  const std::string seen = line_of(
      "the held-out part (", last ? "the last " : "", share, " of the text", last ? "" : ", before its test split",
      ") differs from the rest: counts of the training text predict it ", percent(check->held_out),
      " worse than its own do (ninths of the training text: ", percent(check->least), " to ", percent(check->most),
      "), with a loss of ", fixed(check->loss), " (", fixed(check->least_loss), " to ", fixed(check->most_loss), "); ");
  if (check->sorted)
    return seen +
           "the lines are sorted: if their order means nothing, --documents lines holds out lines drawn from all of "
           "the text";
  return seen +
         "validation will not show what the rest teaches: shuffle the lines if their order means nothing "
         "(shuf mine.txt > shuffled.txt), or join the files so that the end has some of every kind";
}

}  // namespace chargpt
