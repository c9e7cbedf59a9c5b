#include "evaluate/ngram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/token_view.h"

namespace chargpt {
namespace {

constexpr std::int32_t unseen = -1;

/// The numbered n-grams of one order. Those with the same context, an (n - 1)-gram, are consecutive and sorted by their
/// last token. Contexts are exact, not hashed.
struct NgramLevel {
  std::vector<std::int32_t> first{0};  ///< by context: its n-grams are first[c] to first[c + 1] - 1
  std::vector<std::int32_t> totals;    ///< by context: c(h)
  std::vector<std::int32_t> ids;       ///< last token of each n-gram
  std::vector<std::int32_t> counts;    ///< c(hw)

  /// Returns the number of the n-gram with this context and last token, or `unseen`.
  std::int32_t find(std::int32_t context, std::int32_t id) const {
    const auto begin = ids.begin() + first[static_cast<std::size_t>(context)],
               end = ids.begin() + first[static_cast<std::size_t>(context) + 1];
    const auto found = std::lower_bound(begin, end, id);
    return found == end || *found != id ? unseen : static_cast<std::int32_t>(found - ids.begin());
  }
  /// T(h)
  std::int32_t distinct(std::int32_t context) const {
    return first[static_cast<std::size_t>(context) + 1] - first[static_cast<std::size_t>(context)];
  }
};

/// The prediction of the split, order by order. The context of a token does not cross the start of the window that
/// predicts it, nor the start of its document, because counted n-grams do not.
class SplitPrediction {
 public:
  SplitPrediction(const WindowCut& cut, std::int64_t vocab_size)
      : tokens_(cut.tokens().ids<std::int32_t>()),
        contexts_(tokens_.size(), 0),
        probabilities_(tokens_.size(), 1.0 / static_cast<double>(vocab_size)),
        cut_(cut) {}

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

/// Returns the positions of `order` sorted by their keys, 0 to `keys_below` - 1, by counting; equal keys keep their
/// order, and positions whose key is unseen are left out.
std::vector<std::int32_t> sorted_by(const std::vector<std::int32_t>& keys, const std::vector<std::int32_t>& order,
                                    std::int32_t keys_below) {
  std::vector<std::int32_t> ends(static_cast<std::size_t>(keys_below) + 1, 0);
  for (const std::int32_t key : keys)
    if (key != unseen) ++ends[static_cast<std::size_t>(key) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::int32_t> sorted(static_cast<std::size_t>(ends.back()));
  for (const std::int32_t place : order)
    if (const std::int32_t key = keys[static_cast<std::size_t>(place)]; key != unseen)
      sorted[static_cast<std::size_t>(ends[static_cast<std::size_t>(key)]++)] = place;
  return sorted;
}

/// Counts a text. Memory: 20 bytes per token, and 8 to 16 per different n-gram of the level.
class NgramCounter {
 public:
  explicit NgramCounter(TokenView text)
      : tokens_(text.ids<std::int32_t>()),
        by_token_(tokens_.size()),
        contexts_(tokens_.size(), 0),
        document_(text.document()) {
    std::iota(by_token_.begin(), by_token_.end(), 0);
    if (!tokens_.empty()) by_token_ = sorted_by(tokens_, by_token_, std::ranges::max(tokens_) + 1);
  }

  /// Returns the next level; the first call returns order 1.
  NgramLevel next_order() {
    ++order_;
    NgramLevel level;
    level.first.assign(static_cast<std::size_t>(contexts_of_level_) + 1, 0);
    level.totals.assign(static_cast<std::size_t>(contexts_of_level_), 0);
    std::vector<std::int32_t> next_contexts(tokens_.size(), unseen);
    std::int32_t last_context = unseen;
    for (const std::int32_t at : sorted_by(contexts_, by_token_, contexts_of_level_)) {
      const auto place = static_cast<std::size_t>(at);
      const std::int32_t token = tokens_[place], context = contexts_[place];
      ++level.totals[static_cast<std::size_t>(context)];
      if (context != std::exchange(last_context, context) || level.ids.back() != token) {
        ++level.first[static_cast<std::size_t>(context) + 1];
        level.ids.push_back(token);
        level.counts.push_back(0);
      }
      ++level.counts.back();
      // The first context of a document is the id that starts it, alone.
      const bool reaches_back = order_ > 1 && token == document_;
      if (place + 1 < tokens_.size() && !reaches_back)
        next_contexts[place + 1] = static_cast<std::int32_t>(level.ids.size()) - 1;
    }
    std::partial_sum(level.first.begin(), level.first.end(), level.first.begin());
    contexts_ = std::move(next_contexts);
    contexts_of_level_ = static_cast<std::int32_t>(level.ids.size());
    return level;
  }

 private:
  std::vector<std::int32_t> tokens_;    ///< (N)
  std::vector<std::int32_t> by_token_;  ///< (N) positions, sorted by token
  std::vector<std::int32_t> contexts_;  ///< (N) number of the n-gram that ends before token i; the first n are unseen
  std::int32_t contexts_of_level_ = 1;
  std::int64_t document_;
  std::int64_t order_ = 0;
};

void check_countable(TokenView train, TokenView split) {
  if (split.size() < 2)
    throw Error(ExitCode::data, "a split of ", split.size(), " tokens is too short; at least 2 tokens are needed");
  if (const std::int64_t most = std::max(train.size(), split.size()); most >= std::numeric_limits<std::int32_t>::max())
    throw Error(ExitCode::internal, "n-grams of ", most, " tokens cannot be counted");
}

}  // namespace

std::vector<std::vector<double>> ngram_losses(TokenView train, std::int64_t vocab_size,
                                              const std::vector<WindowCut>& scored, int max_order,
                                              const Heartbeat& heartbeat) {
  std::vector<SplitPrediction> predictions;
  for (const WindowCut& cut : scored) {
    check_countable(train, cut.tokens());
    predictions.emplace_back(cut, vocab_size);
  }
  NgramCounter counter(train);
  std::vector<std::vector<double>> losses(scored.size());
  for (int order = 1; order <= max_order; ++order) {
    beat(heartbeat, order - 1, max_order);
    const NgramLevel level = counter.next_order();
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      predictions[i].predict_next_order(level, order);
      losses[i].push_back(predictions[i].loss());
    }
  }
  beat(heartbeat, 1, 1);
  return losses;
}

}  // namespace chargpt
