#include "evaluate/text_score.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "base/characters.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "evaluate/split_loss.h"

namespace chargpt {
namespace {

struct MeanOf {
  double sum = 0;
  std::int64_t count = 0;
  void add(double loss) {
    sum += loss;
    ++count;
  }
};

/// name_of(i) for the i-th mean; those of nothing are left out.
std::vector<MeanLoss> named(std::span<const MeanOf> means, const auto& name_of) {
  std::vector<MeanLoss> found;
  for (std::size_t i = 0; i < means.size(); ++i)
    if (const auto& [sum, count] = means[i]; count > 0)
      found.push_back({name_of(i), sum / static_cast<double>(count), count});
  return found;
}

TokenView view_of(const std::vector<std::uint32_t>& ids, std::int64_t document = TokenView::no_document) {
  return {ids.data(), sizeof ids[0], std::ssize(ids), document};
}

/// Means by the number of characters seen: none, 1, 2, 3 to 4, 5 to 8, ...
class MeansByContext {
 public:
  void add(std::int64_t seen, double loss) {
    const auto range =
        static_cast<std::size_t>(seen < 2 ? seen : 1 + std::bit_width(static_cast<std::uint64_t>(seen - 1)));
    means_.resize(std::max(means_.size(), range + 1));
    means_[range].add(loss);
    most_ = std::max(most_, seen);
  }
  std::vector<MeanLoss> means() const {
    return named(means_, [this](std::size_t range) {
      const std::int64_t end = range == 0 ? 0 : std::int64_t{1} << (range - 1), first = range < 2 ? end : end / 2 + 1,
                         last = std::min(end, most_);
      return first == last ? std::to_string(first) : line_of(first, " to ", last);
    });
  }

 private:
  std::vector<MeanOf> means_;
  std::int64_t most_ = 0;
};

/// The kinds of base/utf8.h first.
constexpr std::array<std::string_view, 9> class_names = {"small letters", "capital letters", "other letters",
                                                         "digits",        "combining marks", "other characters",
                                                         "spaces",        "line ends",       "ends of documents"};

std::size_t class_of(const std::string& symbol) {
  if (symbol.empty()) return 8;
  if (symbol == " ") return 6;
  if (symbol == "\n" || symbol == "\r") return 7;
  const std::optional<char32_t> character = single_character(symbol);
  return static_cast<std::size_t>(character ? kind_of(*character) : CharacterKind::other);
}

}  // namespace

std::vector<std::uint32_t> scored_text(std::span<const std::int64_t> ids, std::int64_t start_symbol) {
  if (ids.empty()) throw Error(ExitCode::data, "the text is empty; scoring needs at least one character");
  std::vector<std::uint32_t> all = {static_cast<std::uint32_t>(start_symbol)};
  all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

std::vector<float> text_losses(WindowScorer& scorer, std::span<const std::int64_t> ids, std::int64_t start_symbol,
                               std::int64_t block_size, const Heartbeat& heartbeat, std::int64_t document) {
  const std::vector<std::uint32_t> all = scored_text(ids, start_symbol);
  return split_loss(scorer, view_of(all, document), block_size, half_window(block_size), heartbeat).losses;
}

std::vector<float> adaptive_text_losses(Predictor& predictor, std::span<const std::int64_t> ids,
                                        std::int64_t start_symbol, std::int64_t block_size, const Heartbeat& heartbeat,
                                        std::int64_t document) {
  const std::vector<std::uint32_t> all = scored_text(ids, start_symbol);
  return adaptive_loss(predictor, view_of(all, document), block_size, 0, heartbeat).losses;
}

std::vector<MeanLoss> losses_by_context(WindowScorer& scorer, std::span<const std::int64_t> ids,
                                        std::int64_t block_size, const Heartbeat& heartbeat) {
  const std::int64_t windows = (std::ssize(ids) - 1) / block_size;
  if (windows < 1) return {};
  const std::vector<std::uint32_t> all(ids.begin(), ids.begin() + windows * block_size + 1);
  const std::vector<float> losses = split_loss(scorer, view_of(all), block_size, 0, heartbeat).losses;
  MeansByContext means;
  for (std::int64_t i = 0; i < std::ssize(losses); ++i)
    means.add(i % block_size + 1, losses[static_cast<std::size_t>(i)]);
  return means.means();
}

std::vector<MeanLoss> losses_by_place(std::span<const std::int64_t> ids, std::span<const float> losses,
                                      std::int64_t document) {
  MeansByContext means;
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    means.add(seen, losses[i]);
    seen = ids[i] == document ? 0 : seen + 1;
  }
  return means.means();
}

std::vector<MeanLoss> losses_by_class(std::span<const std::int64_t> ids, std::span<const float> losses,
                                      const Vocabulary& vocabulary) {
  std::array<MeanOf, class_names.size()> means;
  for (std::size_t i = 0; i < ids.size(); ++i) means[class_of(vocabulary.symbol(ids[i]))].add(losses[i]);
  return named(means, [](std::size_t kind) { return std::string(class_names[kind]); });
}

std::vector<LineLoss> losses_by_line(std::span<const std::int64_t> ids, std::span<const float> losses,
                                     std::int64_t line_end, std::int64_t document) {
  std::vector<LineLoss> lines;
  const auto ends_line = [&](std::int64_t id) { return id == line_end || id == document; };
  for (std::size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    while (end < ids.size() && !ends_line(ids[end])) ++end;
    end = std::min(end + 1, ids.size());
    lines.push_back({std::ssize(lines) + 1, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end),
                     mean_loss(losses.subspan(begin, end - begin))});
  }
  return lines;
}

}  // namespace chargpt
