// From logits to one sampled symbol: pure functions of one row. A new filter is one function. Independent of models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"

namespace chargpt {

// Symbols are ranked by logit, ties by id, lowest first. -inf marks a removed symbol. Throws Error diverged if a logit
// is NaN or +inf.

/// A symbol and the logarithm of its probability under softmax(logits).
struct Candidate {
  std::int64_t id = 0;
  double log_probability = 0;
};
/// The first `count` symbols by rank, or all.
std::vector<Candidate> best_candidates(std::span<const float> logits, std::int64_t count);

/// Samples with the options of `sample`, without allocating. The filters work in place on a row of at least one logit,
/// in this order; at least one symbol is always kept.
///   temperature: divides the logits, after subtracting the largest (softmax does not change, and a small temperature
///     does not overflow); 0 takes the first symbol by rank, and does not use a random number
///   top_k: keeps exactly the first k symbols by rank; 0 or >= V keeps all. Source: Fan et al. 2018
///   top_p: keeps the fewest first symbols by rank whose probabilities sum to at least p; 0 keeps one, 1 keeps
///     all. Source: nucleus sampling, Holtzman et al. 2020
///   min_p: drops symbols with less than p times the largest probability; 0 keeps all, 1 keeps the most probable and
///     its ties. Source: Nguyen et al. 2024
class Sampler {
 public:
  Sampler(const SampleConfig& sample, std::int64_t vocab_size);
  /// Samples a symbol from vocab_size logits with one random number. Throws Error internal if all symbols are removed.
  std::int64_t choose(std::span<float> logits, RandomStream& random);

 private:
  SampleConfig sample_;
  std::vector<std::int64_t> ids_;
  std::vector<double> weights_;
};

}  // namespace chargpt
