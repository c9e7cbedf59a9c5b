// The sampling filters. Sums of probabilities are in double, so that rounding in long rows does not move the limits.
#include "predict/filters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace chargpt {
namespace {

constexpr float removed = -std::numeric_limits<float>::infinity();

void require_usable(std::span<const float> logits) {
  const auto bad = std::find_if(logits.begin(), logits.end(),
                                [](float x) { return std::isnan(x) || x > std::numeric_limits<float>::max(); });
  if (bad == logits.end()) return;
  throw Error(ExitCode::diverged, "the model's output for symbol ", bad - logits.begin(), " is ",
              std::isnan(*bad) ? "not a number" : "infinite",
              "; its weights have diverged: use an earlier checkpoint, or train with a lower learning rate");
}

/// Ranking: larger logit first, ties by lower id. It is a strict total order, so every sort algorithm gives the same
/// result.
struct Ranks {
  std::span<const float> logits;
  bool operator()(std::int64_t a, std::int64_t b) const {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  }
};

void remove_all(std::span<float> logits, std::span<const std::int64_t> ids) {
  for (const std::int64_t id : ids) logits[id] = removed;
}

/// Probability up to a common factor: 1 for the largest logit, `top`, which must be finite.
double weight(float logit, float top) {
  return std::exp(static_cast<double>(logit) - top);
}

double total_weight(std::span<const float> logits, float top) {
  return std::accumulate(logits.begin(), logits.end(), 0.0,
                         [top](double sum, float x) { return sum + weight(x, top); });
}

// The filters need logits without NaN and +inf, at least one of them not removed; `ids` is a buffer, one per symbol.

void divide(std::span<float> logits, double temperature) {
  const float top = std::ranges::max(logits);
  for (float& logit : logits) logit = static_cast<float>((static_cast<double>(logit) - top) / temperature);
}

void keep_first(std::span<float> logits, std::int64_t k, std::span<std::int64_t> ids) {
  if (k <= 0 || k >= std::ssize(logits)) return;
  std::iota(ids.begin(), ids.end(), 0);
  std::nth_element(ids.begin(), ids.begin() + k, ids.end(), Ranks{logits});
  remove_all(logits, ids.subspan(static_cast<std::size_t>(k)));
}

void keep_nucleus(std::span<float> logits, double p, std::span<std::int64_t> ids) {
  if (p >= 1) return;
  const float top = std::ranges::max(logits);
  const double wanted = p * total_weight(logits, top);
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), Ranks{logits});
  std::size_t kept = 1;
  for (double sum = weight(logits[ids[0]], top); sum < wanted && kept < ids.size(); ++kept)
    sum += weight(logits[ids[kept]], top);
  remove_all(logits, ids.subspan(kept));
}

void drop_improbable(std::span<float> logits, double p) {
  if (p <= 0) return;
  const float top = std::ranges::max(logits);
  for (float& logit : logits)
    if (weight(logit, top) < p) logit = removed;
}

/// `weights` is a buffer, one per symbol.
std::int64_t draw(std::span<const float> logits, RandomStream& random, std::span<double> weights) {
  const float top = std::ranges::max(logits);
  std::int64_t id = 0;
  double total = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    total += weights[i] = logits[i] == removed ? 0 : weight(logits[i], top);
  double rest = random.uniform() * total;
  for (std::int64_t i = 0; i < std::ssize(logits); ++i) {
    const double part = weights[static_cast<std::size_t>(i)];
    if (part == 0) continue;
    id = i;
    rest -= part;
    if (rest < 0) break;
  }
  return id;
}

}  // namespace

std::vector<Candidate> best_candidates(std::span<const float> logits, std::int64_t count) {
  require_usable(logits);
  std::vector<std::int64_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto kept = std::min<std::ptrdiff_t>(count, std::ssize(ids));
  std::partial_sort(ids.begin(), ids.begin() + kept, ids.end(), Ranks{logits});
  const float top = std::ranges::max(logits);
  const double log_total = std::log(total_weight(logits, top));
  std::vector<Candidate> best;
  for (const std::int64_t id : std::span(ids).first(static_cast<std::size_t>(kept)))
    best.push_back({id, static_cast<double>(logits[static_cast<std::size_t>(id)]) - top - log_total});
  return best;
}

Sampler::Sampler(const SampleConfig& sample, std::int64_t vocab_size)
    : sample_(sample), ids_(static_cast<std::size_t>(vocab_size)), weights_(static_cast<std::size_t>(vocab_size)) {}

std::int64_t Sampler::choose(std::span<float> logits, RandomStream& random) {
  require_usable(logits);
  const auto first = std::ranges::max_element(logits);
  if (*first == removed) throw Error(ExitCode::internal, "no symbol is left to sample from");
  if (sample_.temperature == 0) return first - logits.begin();
  divide(logits, sample_.temperature);
  keep_first(logits, sample_.top_k, ids_);
  keep_nucleus(logits, sample_.top_p, ids_);
  drop_improbable(logits, sample_.min_p);
  return draw(logits, random, weights_);
}

}  // namespace chargpt
