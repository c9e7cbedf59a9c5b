#include "evaluate/ngram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/token_view.h"

namespace chargpt {
namespace {

constexpr std::int32_t unseen = NgramLevel::unseen;

std::vector<std::int32_t> ids_of(TokenView text) {
  std::vector<std::int32_t> ids;
  ids.reserve(static_cast<std::size_t>(text.size()));
  text.each_run([&ids](std::span<const std::int64_t> run) { ids.insert(ids.end(), run.begin(), run.end()); });
  return ids;
}

/// The prediction of the split, order by order. The context of a token does not cross the start of the window that
/// predicts it, nor the start of its document, because counted n-grams do not.
class SplitPrediction {
 public:
  SplitPrediction(TokenView split, std::int64_t vocab_size, ScoredWindows windows)
      : tokens_(ids_of(split)),
        contexts_(tokens_.size(), 0),
        probabilities_(tokens_.size(), 1.0 / static_cast<double>(vocab_size)),
        cut_(split, windows.length, windows.stride) {}

  /// Continues from order n - 1 to `order` = n, the order of `level`.
  void predict_next_order(const NgramLevel& level, std::int64_t order) {
    std::int32_t next_context = unseen;
    std::int64_t number = 0;
    WindowCut::Window window = cut_[number];  // the window that predicts token t + 1
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
      const std::int32_t context = std::exchange(contexts_[t], next_context);
      next_context = unseen;
      const auto place = static_cast<std::int64_t>(t);
      if (place == window.begin + window.to && place + 1 < std::ssize(tokens_)) window = cut_[++number];
      if (context == unseen) continue;
      const std::int32_t gram = level.find(context, tokens_[t]);
      const double escapes = level.distinct(context), total = level.totals[static_cast<std::size_t>(context)];
      const double count = gram == unseen ? 0 : level.counts[static_cast<std::size_t>(gram)];
      if (escapes > 0) probabilities_[t] = (count + escapes * probabilities_[t]) / (total + escapes);
      if (place - window.begin + 1 >= order) next_context = gram;
    }
  }
  /// Mean of -ln p over the targets.
  double loss() const {
    double sum = 0;
    for (std::size_t t = 1; t < probabilities_.size(); ++t) sum -= std::log(probabilities_[t]);
    return sum / static_cast<double>(probabilities_.size() - 1);
  }

 private:
  std::vector<std::int32_t> tokens_;  ///< (M)
  std::vector<std::int32_t>
      contexts_;  ///< (M) number of the n-gram that ends before token t; unseen if it is new or cut
  std::vector<double> probabilities_;  ///< (M) of token t, for the orders so far
  WindowCut cut_;
};

void check_countable(TokenView train, TokenView split, std::int64_t vocab_size, ScoredWindows windows) {
  if (split.size() < 2)
    throw Error(ExitCode::data, "a split of ", split.size(), " tokens is too short; at least 2 tokens are needed");
  if (std::max(train.size(), split.size()) >= std::numeric_limits<std::int32_t>::max() || vocab_size < 1 ||
      windows.length < 1 || windows.stride < 0 || windows.stride > windows.length)
    throw Error(ExitCode::internal, "n-grams of ", train.size(), " tokens, ", vocab_size, " symbols and windows of ",
                windows.length, " every ", windows.stride, " cannot be counted");
}

}  // namespace

std::int32_t NgramLevel::find(std::int32_t context, std::int32_t id) const {
  const auto begin = ids.begin() + first[static_cast<std::size_t>(context)],
             end = ids.begin() + first[static_cast<std::size_t>(context) + 1];
  const auto found = std::lower_bound(begin, end, id);
  return found == end || *found != id ? unseen : static_cast<std::int32_t>(found - ids.begin());
}

NgramCounter::NgramCounter(TokenView text)
    : tokens_(ids_of(text)), contexts_(tokens_.size(), 0), document_(text.document()) {}

NgramLevel NgramCounter::next_order(const Heartbeat& heartbeat) {
  ++order_;
  std::vector<std::uint64_t> grams;  // context and token, in the order of the level
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    if (contexts_[i] != unseen)
      grams.push_back(static_cast<std::uint64_t>(contexts_[i]) << 32 | static_cast<std::uint32_t>(tokens_[i]));
  beat(heartbeat, 0, 1);
  std::sort(grams.begin(), grams.end());
  beat(heartbeat, 1, 2);
  NgramLevel level;
  level.first.assign(contexts_of_level_ + 1, 0);
  level.totals.assign(contexts_of_level_, 0);
  for (std::size_t i = 0; i < grams.size(); ++i) {
    const auto context = static_cast<std::size_t>(grams[i] >> 32);
    ++level.totals[context];
    if (i > 0 && grams[i] == grams[i - 1]) {
      ++level.counts.back();
      continue;
    }
    ++level.first[context + 1];
    level.ids.push_back(static_cast<std::int32_t>(grams[i]));
    level.counts.push_back(1);
  }
  std::partial_sum(level.first.begin(), level.first.end(), level.first.begin());
  std::int32_t next_context = unseen;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::int32_t context = std::exchange(contexts_[i], next_context);
    // The first context of a document is the id that starts it, alone.
    const bool reaches_back = order_ > 1 && tokens_[i] == document_;
    next_context = context == unseen || reaches_back ? unseen : level.find(context, tokens_[i]);
  }
  contexts_of_level_ = level.ids.size();
  beat(heartbeat, 1, 1);
  return level;
}

std::vector<std::vector<double>> ngram_losses(TokenView train, std::int64_t vocab_size,
                                              const std::vector<ScoredSplit>& scored, int max_order,
                                              const Heartbeat& heartbeat) {
  std::vector<SplitPrediction> predictions;
  for (auto [split, windows] : scored) {
    check_countable(train, split, vocab_size, windows);
    if (windows.stride == 0) windows.stride = windows.length;
    predictions.emplace_back(split, vocab_size, windows);
  }
  NgramCounter counter(train);
  std::vector<std::vector<double>> losses(scored.size());
  for (int order = 1; order <= max_order; ++order) {
    const double before = (order - 1.0) / max_order, after = static_cast<double>(order) / max_order;
    const NgramLevel level = counter.next_order(part_heartbeat(heartbeat, before, after));
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      predictions[i].predict_next_order(level, order);
      losses[i].push_back(predictions[i].loss());
    }
  }
  return losses;
}

}  // namespace chargpt
