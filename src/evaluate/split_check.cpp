#include "evaluate/split_check.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <vector>

#include "base/quote.h"
#include "evaluate/ngram.h"
#include "report/format.h"

namespace chargpt {
namespace {

constexpr std::int64_t least_tokens = 1000, most_counted = 1'000'000, most_tokens = 200'000;  // of a part
constexpr std::int64_t stretches = 4;  // evenly spaced samples of a longer part
constexpr std::int64_t least_lines = 50;
constexpr double sorted_share = 0.95;  ///< fraction of neighbouring lines that are in order

// Measured on ordinary texts and unlike pairs: README.md. For a text that is learned exactly both losses are tiny, and
// their ratio is meaningless.
constexpr double clear_ratio = 1.25, clear_difference = 0.5;

using Part = std::vector<std::uint32_t>;  ///< ids

/// A part of the text, or evenly spaced stretches of it, `most` tokens in total.
Part sampled(TokenView part, std::int64_t most) {
  const std::int64_t length = std::min(part.size(), most) / stretches;
  Part ids;
  for (std::int64_t i = 0; i < stretches; ++i) {
    const Part stretch = part.slice((part.size() - length) * i / (stretches - 1), length).ids<std::uint32_t>();
    ids.insert(ids.end(), stretch.begin(), stretch.end());
  }
  return ids;
}

TokenView view_of(const Part& part) {
  return {part.data(), sizeof part[0], std::ssize(part)};
}

/// Calls visit(line) for each line that ends within the part.
template <class Visit>
void each_line(const Part& part, std::int64_t newline, const Visit& visit) {
  auto begin = part.begin();
  for (auto end = begin; (end = std::find(begin, part.end(), newline)) != part.end(); begin = end + 1)
    visit(std::span(begin, end));
}

/// Whether nearly all pairs of neighbouring lines ascend, or nearly all descend, by `symbol` of their ids.
template <class Symbol>
bool in_order(const std::vector<Part>& parts, std::int64_t newline, const Symbol& symbol) {
  std::int64_t rising = 0, falling = 0;
  for (const Part& part : parts) {
    std::span<const std::uint32_t> before;
    each_line(part, newline, [&](std::span<const std::uint32_t> line) {
      if (!before.empty() && !line.empty()) {
        rising += std::ranges::lexicographical_compare(before, line, {}, symbol, symbol) ? 1 : 0;
        falling += std::ranges::lexicographical_compare(line, before, {}, symbol, symbol) ? 1 : 0;
      }
      before = line;
    });
  }
  const std::int64_t all = rising + falling;
  return all >= least_lines &&
         static_cast<double>(std::max(rising, falling)) >= sorted_share * static_cast<double>(all);
}

/// Compares code points, exact or with ASCII capitals as small letters. If most held-out lines also are in the training
/// part, the text repeats lines, so their order does not matter.
bool is_sorted(const std::vector<Part>& parts, const Vocabulary& vocabulary) {
  const std::int64_t newline = vocabulary.id_of('\n');
  const auto exact = [&](std::uint32_t id) { return vocabulary.code_point(id); };
  const auto folded = [&](std::uint32_t id) {
    const char32_t symbol = exact(id);
    return symbol >= 'A' && symbol <= 'Z' ? symbol + ('a' - 'A') : symbol;
  };
  if (!in_order(parts, newline, exact) && !in_order(parts, newline, folded)) return false;
  std::set<Part> known;
  std::int64_t held_out = 0, repeated = 0;
  for (const Part& part : std::span(parts).first(2))
    each_line(part, newline, [&](auto line) { known.emplace(line.begin(), line.end()); });
  each_line(parts[2], newline, [&](auto line) {
    ++held_out;
    repeated += known.contains(Part(line.begin(), line.end())) ? 1 : 0;
  });
  return 2 * repeated < held_out;
}

/// True if the text is a list: nearly all lines have few words, hardly any is blank, and they are not repetitions of a
/// few lines.
bool is_list(const Corpus& corpus) {
  constexpr std::int64_t looked_at = 100'000, fewest_lines = 100, most_symbols = 40, most_spaces = 2;
  constexpr double nearly_all = 0.97;
  const std::int64_t newline = corpus.vocabulary().id_of('\n'), space = corpus.vocabulary().id_of(' ');
  if (corpus.is_divided() || newline < 0) return false;
  std::int64_t lines = 0, items = 0;
  std::set<Part> different;
  const TokenView beginning = corpus.train().slice(0, std::min(corpus.train().size(), looked_at));
  each_line(beginning.ids<std::uint32_t>(), newline, [&](auto line) {
    ++lines;
    const bool is_item =
        !line.empty() && std::ssize(line) <= most_symbols && std::ranges::count(line, space) <= most_spaces;
    items += is_item ? 1 : 0;
    different.emplace(line.begin(), line.end());
  });
  return lines >= fewest_lines && 10 * std::ssize(different) > lines &&
         static_cast<double>(items) >= nearly_all * static_cast<double>(lines);
}

}  // namespace

bool SplitCheck::differs() const {
  return sorted || (held_out_loss >= clear_ratio * train_loss && held_out_loss - train_loss >= clear_difference);
}

std::optional<SplitCheck> check_split(const Corpus& corpus) {
  const TokenView train = corpus.train(), val = corpus.val();
  if (corpus.is_divided()) return std::nullopt;  // they are sampled from the whole text
  if (train.size() < 5 * least_tokens || val.size() < least_tokens) return std::nullopt;
  const std::int64_t cut = train.size() / 5 * 4;
  const std::vector<Part> parts = {sampled(train.slice(0, cut), most_counted),
                                   sampled(train.slice(cut, train.size() - cut), most_tokens),
                                   sampled(val, most_tokens)};
  const auto uncut = [](const Part& part) { return WindowCut(view_of(part), std::ssize(part)); };
  const auto losses =
      ngram_losses(view_of(parts[0]), corpus.vocabulary().size(), {uncut(parts[1]), uncut(parts[2])}, /*max_order=*/2);
  return SplitCheck{.train_loss = losses[0].back(),
                    .held_out_loss = losses[1].back(),
                    .sorted = is_sorted(parts, corpus.vocabulary())};
}

std::string split_notice(const Corpus& corpus, const std::optional<SplitCheck>& check) {
  if (!check || !check->differs())
    return is_list(corpus)
               ? "the lines are short, as in a list: if they are separate items, use --documents lines (as in the "
                 "preset names), so that the model can write new ones"
               : "";
  const std::string share =
      format_percent(static_cast<double>(corpus.val_tokens()) / static_cast<double>(corpus.all().size()), 0);
  const bool last = corpus.test_tokens() == 0;
  const std::string part = line_of("the held-out part (", last ? "the last " : "", share, " of the text",
                                   last ? "" : ", before its test split", ") differs from the rest");
  if (check->sorted)
    return part +
           ", because the lines are sorted: if their order does not matter, use --documents lines, which holds out "
           "lines from the whole text";
  return part + ": counts of the training text predict it with a loss of " + format_fixed(check->held_out_loss, 2) +
         ", and the end of the training text with " + format_fixed(check->train_loss, 2) +
         "; validation does not measure what the rest teaches: shuffle the lines if their order does not matter "
         "(shuf mine.txt > shuffled.txt), or combine the files so that the end contains every kind of text";
}

}  // namespace chargpt
