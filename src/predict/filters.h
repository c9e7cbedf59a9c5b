// From logits to one drawn symbol: pure functions over one row. Knows no model. A new filter is one function here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"

namespace chargpt {

// Symbols rank by logit, equal ones by id, lowest first. -inf is a symbol that was removed. Error diverged where a
// logit is NaN or +inf.

/// A symbol, and the logarithm of its probability by softmax(logits).
struct Candidate {
  std::int64_t id = 0;
  double log_probability = 0;
};
/// The first `count` in rank, or all.
std::vector<Candidate> best_candidates(std::span<const float> logits, std::int64_t count);

/// Draws as `sample` says, in room taken once. Filters work in place, on a row of at least one logit, in this order; at
/// least one symbol stays.
///   temperature: divides the logits, after subtracting the largest (softmax does not change, and no small temperature
///     can overflow); 0 takes the first in rank, and draws nothing
///   top_k: keeps exactly the first k in rank; 0 or >= V keeps all. Source: Fan et al. 2018
///   top_p: keeps the shortest run of first symbols in rank whose probabilities sum to at least p; 0 keeps one, 1 keeps
///     all. Source: nucleus sampling, Holtzman et al. 2020
///   min_p: drops symbols of less than p times the largest probability; 0 keeps all, 1 keeps the most probable and its
///     equals. Source: Nguyen et al. 2024
class Sampler {
 public:
  Sampler(const SampleConfig& sample, std::int64_t vocab_size);
  /// One symbol of a row of vocab_size logits, by one uniform number. Errors: internal where every symbol is removed.
  std::int64_t choose(std::span<float> logits, RandomStream& random);

 private:
  SampleConfig sample_;
  std::vector<std::int64_t> ids_;
  std::vector<double> weights_;
};

}  // namespace chargpt
