#include "evaluate/text_score.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "base/characters.h"
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

/// name_of(i) names the i-th mean; omits means without characters.
std::vector<MeanLoss> named(std::span<const MeanOf> means, const auto& name_of) {
  std::vector<MeanLoss> found;
  for (std::size_t i = 0; i < means.size(); ++i)
    if (const auto& [sum, count] = means[i]; count > 0)
      found.push_back({name_of(i), sum / static_cast<double>(count), count});
  return found;
}

/// Means by the number of characters seen: 0, 1, 2, 3 to 4, 5 to 8, ...
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

/// The kinds of base/characters.h come first.
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

std::vector<MeanLoss> losses_by_context(WindowScorer& scorer, TokenView text, std::int64_t block_size,
                                        const Heartbeat& heartbeat) {
  const std::int64_t windows = (text.size() - 1) / block_size;
  if (windows < 1) return {};
  const std::vector<float> losses =
      split_loss(scorer, text.slice(0, windows * block_size + 1), block_size, 0, heartbeat).losses;
  MeansByContext means;
  for (std::int64_t i = 0; i < std::ssize(losses); ++i)
    means.add(i % block_size + 1, losses[static_cast<std::size_t>(i)]);
  return means.means();
}

std::vector<MeanLoss> losses_by_place(TokenView text, std::span<const float> losses) {
  MeansByContext means;
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < std::ssize(losses); ++i) {
    means.add(seen, losses[static_cast<std::size_t>(i)]);
    seen = text[i + 1] == text.document() ? 0 : seen + 1;
  }
  return means.means();
}

std::vector<MeanLoss> losses_by_class(TokenView text, std::span<const float> losses, const Vocabulary& vocabulary) {
  std::array<MeanOf, class_names.size()> means;
  for (std::int64_t i = 0; i < std::ssize(losses); ++i)
    means[class_of(vocabulary.symbol(text[i + 1]))].add(losses[static_cast<std::size_t>(i)]);
  return named(means, [](std::size_t kind) { return std::string(class_names[kind]); });
}

std::vector<LineLoss> losses_by_line(TokenView text, std::span<const float> losses, std::int64_t line_end) {
  std::vector<LineLoss> lines;
  std::int64_t begin = 0;
  for (std::int64_t end = 1; end <= std::ssize(losses); ++end) {
    const std::int64_t id = text[end];  // last token of the losses [begin, end)
    if (id != line_end && id != text.document() && end < std::ssize(losses)) continue;
    const auto line = losses.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    lines.push_back({std::ssize(lines) + 1, begin, end, mean_loss(line)});
    begin = end;
  }
  return lines;
}

}  // namespace chargpt
