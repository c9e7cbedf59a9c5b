#include "baseline/ngram.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace chargpt {
namespace {

constexpr std::size_t first_slots = std::size_t{1} << 10;
constexpr std::int32_t unseen = -1;
constexpr std::int32_t cut = -1;  ///< in place of a token: no n-gram reaches over it
constexpr std::size_t tokens_between_beats = std::size_t{1} << 18;

/// A bijection that spreads every input bit over the high bits. Source: the finaliser of SplitMix64 (Steele et al.,
/// 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

std::uint64_t packed(std::int32_t prefix, std::int32_t token) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(prefix)) << 32 | static_cast<std::uint32_t>(token);
}

void append_ids(TokenView tokens, std::vector<std::int32_t>& ids) {
  std::vector<std::int64_t> run(4096);
  for (std::int64_t begin = 0; begin < tokens.size(); begin += static_cast<std::int64_t>(run.size())) {
    const std::int64_t count = std::min(static_cast<std::int64_t>(run.size()), tokens.size() - begin);
    tokens.copy(begin, count, run.data());
    ids.insert(ids.end(), run.begin(), run.begin() + count);
  }
}

/// The texts one after the other, each behind a cut.
std::vector<std::int32_t> ids_of(const std::vector<TokenView>& texts) {
  std::vector<std::int32_t> ids;
  for (const TokenView text : texts) {
    ids.push_back(cut);
    append_ids(text, ids);
  }
  return ids;
}

std::vector<std::int32_t> ids_of(TokenView tokens) {
  std::vector<std::int32_t> ids;
  append_ids(tokens, ids);
  return ids;
}

/// What followed each context of one length in the train texts.
struct Followers {
  std::int32_t tokens = 0;    ///< c(h)
  std::int32_t distinct = 0;  ///< T(h)
};

/// The train texts, counted order by order.
class TrainCounts {
 public:
  explicit TrainCounts(const std::vector<TokenView>& train) : tokens_(ids_of(train)), contexts_(tokens_.size(), 0) {
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i] == cut) contexts_[i] = unseen;
  }

  /// From order n - 1 to order n.
  template <class Beat>
  void count_next_order(const Beat& beat) {
    followers_.assign(std::max<std::size_t>(grams_.counts().size(), 1), {});
    grams_ = PairCounts();
    std::int32_t next_context = unseen;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (i % tokens_between_beats == 0) beat(static_cast<double>(i) / static_cast<double>(tokens_.size()));
      const std::int32_t context = std::exchange(contexts_[i], next_context);
      next_context = context == unseen || tokens_[i] == cut ? unseen : count(context, tokens_[i]);
    }
  }
  /// The n-grams.
  const PairCounts& grams() const { return grams_; }
  /// By the number of the context, an (n - 1)-gram.
  const Followers& followers(std::int32_t context) const { return followers_[static_cast<std::size_t>(context)]; }

 private:
  std::int32_t count(std::int32_t context, std::int32_t token) {
    const std::int32_t gram = grams_.count(context, token);
    Followers& followers = followers_[static_cast<std::size_t>(context)];
    ++followers.tokens;
    if (grams_.counts()[static_cast<std::size_t>(gram)] == 1) ++followers.distinct;
    return gram;
  }

  std::vector<std::int32_t> tokens_;    ///< (N)
  std::vector<std::int32_t> contexts_;  ///< (N) number of the n-gram that ends before token i; unseen for the first n
  PairCounts grams_;
  std::vector<Followers> followers_;
};

/// The split, predicted order by order. The context of a token never reaches back over the start of the window that
/// predicts it.
class SplitPrediction {
 public:
  SplitPrediction(TokenView split, std::int64_t vocab_size, ScoredWindows windows)
      : tokens_(ids_of(split)),
        contexts_(tokens_.size(), 0),
        probabilities_(tokens_.size(), 1.0 / static_cast<double>(vocab_size)),
        length_(static_cast<std::size_t>(windows.length)),
        stride_(static_cast<std::size_t>(windows.stride)) {}

  /// From order n - 1 to `order` = n, which `train` has just counted.
  void predict_next_order(const TrainCounts& train, std::size_t order) {
    std::int32_t next_context = unseen;
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
      const std::int32_t context = std::exchange(contexts_[t], next_context);
      next_context = unseen;
      if (context == unseen) continue;
      const std::int32_t gram = train.grams().find(context, tokens_[t]);
      interpolate(probabilities_[t], train.followers(context),
                  gram == unseen ? 0 : train.grams().counts()[static_cast<std::size_t>(gram)]);
      if (inputs_up_to(t) >= order) next_context = gram;
    }
  }
  /// Mean of -ln p over the targets.
  double loss() const {
    double sum = 0;
    for (std::size_t t = 1; t < probabilities_.size(); ++t) sum -= std::log(probabilities_[t]);
    return sum / static_cast<double>(probabilities_.size() - 1);
  }

 private:
  /// Of the window that predicts token t + 1: the first one that holds that target.
  std::size_t inputs_up_to(std::size_t t) const {
    const std::size_t begin = t < length_ ? 0 : ((t - length_) / stride_ + 1) * stride_;
    return t - begin + 1;
  }
  static void interpolate(double& probability, const Followers& followers, std::int32_t count) {
    if (followers.distinct == 0) return;
    const double escapes = followers.distinct;
    probability = (count + escapes * probability) / (followers.tokens + escapes);
  }

  std::vector<std::int32_t> tokens_;  ///< (M)
  std::vector<std::int32_t>
      contexts_;  ///< (M) number of the n-gram that ends before token t; unseen where it is new or cut
  std::vector<double> probabilities_;  ///< (M) of token t, so far
  std::size_t length_, stride_;
};

}  // namespace

PairCounts::PairCounts() : slots_(first_slots, 0) {}

std::int32_t PairCounts::count(std::int32_t prefix, std::int32_t token) {
  const std::uint64_t pair = packed(prefix, token);
  std::int32_t& slot = slots_[slot_of(pair)];
  if (slot != 0) {
    ++counts_[static_cast<std::size_t>(slot - 1)];
    return slot - 1;
  }
  pairs_.push_back(pair);
  counts_.push_back(1);
  slot = static_cast<std::int32_t>(pairs_.size());
  const std::int32_t number = slot - 1;
  if (pairs_.size() > slots_.size() / 2) grow();
  return number;
}

std::int32_t PairCounts::find(std::int32_t prefix, std::int32_t token) const {
  return slots_[slot_of(packed(prefix, token))] - 1;
}

/// Where the pair is, or the empty slot where it belongs.
std::size_t PairCounts::slot_of(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = mix(pair) & mask;
  while (slots_[slot] != 0 && pairs_[static_cast<std::size_t>(slots_[slot] - 1)] != pair) slot = (slot + 1) & mask;
  return slot;
}

void PairCounts::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t i = 0; i < pairs_.size(); ++i) slots_[slot_of(pairs_[i])] = static_cast<std::int32_t>(i + 1);
}

std::vector<double> witten_bell_losses(const std::vector<TokenView>& train, TokenView split, std::int64_t vocab_size,
                                       ScoredWindows windows, int max_order, const Heartbeat& heartbeat) {
  TrainCounts counts(train);
  SplitPrediction prediction(split, vocab_size, windows);
  std::vector<double> losses;
  for (int order = 1; order <= max_order; ++order) {
    counts.count_next_order([&](double part) {
      if (heartbeat) heartbeat((order - 1 + part) / max_order);
    });
    prediction.predict_next_order(counts, static_cast<std::size_t>(order));
    losses.push_back(prediction.loss());
  }
  return losses;
}

}  // namespace chargpt
