// From logits to one drawn symbol: pure functions over one row. Knows no model. A new filter is one function here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"

namespace chargpt {

// All filters work in place, on a row of at least one logit; a removed symbol's logit becomes -inf, and at least one
// symbol stays. Order of use: temperature, top_k, top_p, min_p. Symbols rank by logit, equal ones by id, lowest first.
// -inf is a symbol already removed. Error diverged where a logit is NaN or +inf.

/// Divides the logits, after subtracting the largest (softmax does not change, and no small temperature can overflow);
/// 0 keeps the most probable symbol alone.
void apply_temperature(std::span<float> logits, double temperature);
/// Keeps exactly the first k in rank; k = 0 or k >= V keeps all. Source: Fan et al. 2018.
void keep_top_k(std::span<float> logits, std::int64_t k);
/// Keeps the shortest run of first symbols in rank whose probabilities sum to at least p; 0 keeps one, 1 keeps all.
/// Source: nucleus sampling, Holtzman et al. 2020.
void keep_top_p(std::span<float> logits, double p);
/// Drops symbols of less than p times the largest probability; 0 keeps all, 1 keeps the most probable and its equals.
/// Source: Nguyen et al. 2024.
void keep_min_p(std::span<float> logits, double p);

/// First in rank. Error internal where every symbol is removed.
std::int64_t most_probable(std::span<const float> logits);
/// A symbol, and the logarithm of its probability by softmax(logits).
struct Candidate {
  std::int64_t id = 0;
  double log_probability = 0;
};
/// The first `count` in rank, or all.
std::vector<Candidate> best_candidates(std::span<const float> logits, std::int64_t count);
/// Draws from softmax(logits) with one uniform number. Errors: internal where every symbol is removed, diverged where a
/// logit is NaN or +inf.
std::int64_t draw(std::span<const float> logits, RandomStream& random);

/// All of the above as `sample` says, in room taken once.
class Sampler {
 public:
  Sampler(const SampleConfig& sample, std::int64_t vocab_size);
  /// One symbol of a row of vocab_size logits, which are used up; temperature 0 is greedy and draws nothing. Errors as
  /// draw().
  std::int64_t choose(std::span<float> logits, RandomStream& random);

 private:
  SampleConfig sample_;
  std::vector<std::int64_t> ids_;
  std::vector<double> weights_;
};

}  // namespace chargpt
