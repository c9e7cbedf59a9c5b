#include "evaluate/text_score.h"

#include <array>
#include <string_view>

#include "base/characters.h"
#include "base/utf8.h"
#include "evaluate/split_loss.h"

namespace chargpt {
namespace {

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

std::vector<MeanLoss> losses_by_class(TokenView text, std::span<const float> losses, const Vocabulary& vocabulary) {
  std::array<double, class_names.size()> sums{};
  std::array<std::int64_t, class_names.size()> counts{};
  for (std::int64_t i = 0; i < std::ssize(losses); ++i) {
    const std::size_t kind = class_of(vocabulary.symbol(text[i + 1]));
    sums[kind] += losses[static_cast<std::size_t>(i)];
    ++counts[kind];
  }
  std::vector<MeanLoss> means;
  for (std::size_t kind = 0; kind < sums.size(); ++kind)
    if (counts[kind] > 0)
      means.push_back({std::string(class_names[kind]), sums[kind] / static_cast<double>(counts[kind]), counts[kind]});
  return means;
}

std::vector<LineLoss> losses_by_line(TokenView text, std::span<const float> losses, std::int64_t line_end) {
  std::vector<LineLoss> lines;
  std::int64_t begin = 0;
  for (std::int64_t end = 1; end <= std::ssize(losses); ++end) {
    const std::int64_t id = text[end];  // last token of the losses [begin, end)
    if (id != line_end && id != text.document() && end < std::ssize(losses)) continue;
    const auto line = losses.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    lines.push_back({begin, end, mean_loss(line)});
    begin = end;
  }
  return lines;
}

}  // namespace chargpt
