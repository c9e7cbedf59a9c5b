#include "evaluate/text_score.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "evaluate/split_loss.h"

namespace chargpt {
namespace {

class MeanOf {
 public:
  void add(double loss) {
    sum_ += loss;
    ++count_;
  }
  std::int64_t count() const { return count_; }
  double mean() const { return sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

TokenView view_of(const std::vector<std::uint32_t>& ids, std::int64_t document = TokenView::no_document) {
  return {ids.data(), sizeof ids[0], std::ssize(ids), document};
}

/// What is scored, behind the symbol that it begins from.
std::vector<std::uint32_t> begun(std::span<const std::int64_t> ids, std::int64_t start_symbol) {
  if (ids.empty()) throw Error(ExitCode::data, "the text is empty; scoring needs at least one character");
  std::vector<std::uint32_t> all = {static_cast<std::uint32_t>(start_symbol)};
  all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

constexpr std::array<std::string_view, 7> class_names = {
    "small letters", "capital letters", "digits", "spaces", "line ends", "other ASCII", "other characters"};

std::size_t class_of(std::string_view symbol) {
  const unsigned char first = symbol.empty() ? 0 : static_cast<unsigned char>(symbol[0]);
  if (first >= 'a' && first <= 'z') return 0;
  if (first >= 'A' && first <= 'Z') return 1;
  if (first >= '0' && first <= '9') return 2;
  if (first == ' ') return 3;
  if (first == '\n' || first == '\r') return 4;
  return first < 0x80 ? 5 : 6;
}

}  // namespace

std::vector<float> text_losses(WindowScorer& scorer, std::span<const std::int64_t> ids, std::int64_t start_symbol,
                               std::int64_t block_size, const Heartbeat& heartbeat, std::int64_t document) {
  const std::vector<std::uint32_t> all = begun(ids, start_symbol);
  return split_loss(scorer, view_of(all, document), block_size, std::max<std::int64_t>(1, block_size / 2), heartbeat)
      .losses;
}

std::vector<float> adaptive_text_losses(Predictor& predictor, std::span<const std::int64_t> ids,
                                        std::int64_t start_symbol, std::int64_t block_size, const Heartbeat& heartbeat,
                                        std::int64_t document) {
  const std::vector<std::uint32_t> all = begun(ids, start_symbol);
  return adaptive_loss(predictor, view_of(all, document), block_size, 0, heartbeat).losses;
}

std::vector<MeanLoss> losses_by_context(WindowScorer& scorer, std::span<const std::int64_t> ids,
                                        std::int64_t block_size, const Heartbeat& heartbeat) {
  const std::int64_t windows = (std::ssize(ids) - 1) / block_size;
  if (windows < 1) return {};
  const std::vector<std::uint32_t> all(ids.begin(), ids.begin() + windows * block_size + 1);
  const std::vector<float> losses = split_loss(scorer, view_of(all), block_size, 0, heartbeat).losses;
  std::vector<MeanLoss> means;
  std::int64_t first = 1;
  for (std::int64_t power = 1; first <= block_size; power *= 2) {  // each range ends at a power of two
    const std::int64_t last = std::min(power, block_size);
    MeanOf mean;
    for (std::int64_t window = 0; window < windows; ++window)
      for (std::int64_t seen = first; seen <= last; ++seen)
        mean.add(losses[static_cast<std::size_t>(window * block_size + seen - 1)]);
    means.push_back({first == last ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last),
                     mean.mean(), mean.count()});
    first = last + 1;
  }
  return means;
}

std::vector<MeanLoss> losses_by_class(std::span<const std::int64_t> ids, std::span<const float> losses,
                                      const Vocabulary& vocabulary) {
  std::array<MeanOf, class_names.size()> means;
  for (std::size_t i = 0; i < ids.size(); ++i) means[class_of(vocabulary.symbol(ids[i]))].add(losses[i]);
  std::vector<MeanLoss> found;
  for (std::size_t kind = 0; kind < means.size(); ++kind)
    if (means[kind].count() > 0)
      found.push_back({std::string(class_names[kind]), means[kind].mean(), means[kind].count()});
  return found;
}

std::vector<LineLoss> losses_by_line(std::span<const std::int64_t> ids, std::span<const float> losses,
                                     std::int64_t line_end) {
  std::vector<LineLoss> lines;
  const std::int64_t size = std::ssize(ids);
  for (std::int64_t begin = 0, end = 0; begin < size; begin = end) {
    MeanOf mean;
    for (end = begin; end < size;) {
      mean.add(losses[static_cast<std::size_t>(end)]);
      if (ids[static_cast<std::size_t>(end++)] == line_end) break;
    }
    lines.push_back({std::ssize(lines) + 1, begin, end, mean.mean()});
  }
  return lines;
}

}  // namespace chargpt
