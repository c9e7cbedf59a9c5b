#include "evaluate/text_score.h"

#include "evaluate/split_loss.h"

namespace chargpt {

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
