// The sampling filters. Sums of probabilities are in double, so that a row of many symbols loses nothing at the edges.
#include "generate/filters.h"

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
  throw Error(ExitCode::diverged,
              "the model's output for symbol " + std::to_string(bad - logits.begin()) + " is " +
                  (std::isnan(*bad) ? "not a number" : "infinite") +
                  "; its weights have diverged: use an earlier checkpoint, or train with a lower learning rate");
}

float largest(std::span<const float> logits) {
  return *std::max_element(logits.begin(), logits.end());
}

/// Ids by rank: larger logit first, of equal ones the lower id.
std::vector<std::int64_t> ranking(std::span<const float> logits) {
  std::vector<std::int64_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) { return logits[a] > logits[b]; });
  return ids;
}

void remove_from_rank(std::span<float> logits, const std::vector<std::int64_t>& ids, std::size_t first_removed) {
  for (std::size_t i = first_removed; i < ids.size(); ++i) logits[ids[i]] = removed;
}

/// Probability up to a common factor: 1 for the largest logit. `top` must be finite.
double weight(float logit, float top) {
  return std::exp(static_cast<double>(logit) - top);
}

double total_weight(std::span<const float> logits, float top) {
  return std::accumulate(logits.begin(), logits.end(), 0.0,
                         [top](double sum, float x) { return sum + weight(x, top); });
}

}  // namespace

void apply_temperature(std::span<float> logits, double temperature) {
  require_usable(logits);
  if (temperature == 0) return keep_top_k(logits, 1);
  const float top = largest(logits);
  if (top == removed) return;
  for (float& logit : logits) logit = static_cast<float>((static_cast<double>(logit) - top) / temperature);
}

void keep_top_k(std::span<float> logits, std::int64_t k) {
  require_usable(logits);
  if (k <= 0 || k >= std::ssize(logits)) return;
  remove_from_rank(logits, ranking(logits), static_cast<std::size_t>(k));
}

void keep_top_p(std::span<float> logits, double p) {
  require_usable(logits);
  const float top = largest(logits);
  if (p >= 1 || top == removed) return;
  const double wanted = p * total_weight(logits, top);
  const std::vector<std::int64_t> ids = ranking(logits);
  std::size_t kept = 1;
  for (double sum = weight(logits[ids[0]], top); sum < wanted && kept < ids.size(); ++kept)
    sum += weight(logits[ids[kept]], top);
  remove_from_rank(logits, ids, kept);
}

void keep_min_p(std::span<float> logits, double p) {
  require_usable(logits);
  const float top = largest(logits);
  if (p <= 0 || top == removed) return;
  for (float& logit : logits)
    if (weight(logit, top) < p) logit = removed;
}

std::int64_t most_probable(std::span<const float> logits) {
  require_usable(logits);
  const auto first = std::max_element(logits.begin(), logits.end());
  if (first == logits.end() || *first == removed) throw Error(ExitCode::internal, "no symbol is left to sample from");
  return first - logits.begin();
}

std::int64_t draw(std::span<const float> logits, RandomStream& random) {
  std::int64_t id = most_probable(logits);
  const float top = logits[id];
  double rest = random.uniform() * total_weight(logits, top);
  for (std::int64_t i = 0; i < std::ssize(logits); ++i) {
    const double part = weight(logits[i], top);
    if (part == 0) continue;
    id = i;
    rest -= part;
    if (rest < 0) break;
  }
  return id;
}

std::int64_t choose(std::span<float> logits, const SampleConfig& sample, RandomStream& random) {
  if (sample.temperature == 0) return most_probable(logits);
  apply_temperature(logits, sample.temperature);
  keep_top_k(logits, sample.top_k);
  keep_top_p(logits, sample.top_p);
  keep_min_p(logits, sample.min_p);
  return draw(logits, random);
}

}  // namespace chargpt
