// Cross-entropy of logits (rows, V), and its gradient in their place:
//
//   loss = log(sum_j e^(logits_j - max)) + max - logits_target
//   dlogits = scale (softmax(logits) - onehot(target))
//
// A row whose target is negative counts for nothing: its loss is 0, and so is its gradient.
//
// The target may be a mixture, (1 - w) onehot(target) + w q of a distribution q, as in distillation (Hinton, Vinyals &
// Dean 2015). The gradient is linear in the target, so what cross_entropy left of it is moved, with share = scale w:
//
//   dlogits += share (onehot(target) - q)
//
// Compiled once per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

inline float row_max(const float* x, long width) {
  constexpr float least = -__builtin_inff();
  Vector found = splat(least);
  long i = 0;
  for (; i + lanes <= width; i += lanes) found = max(found, load(x + i));
  if (i < width) found = max(found, load_partial(x + i, width - i, least));
  return reduce_max(found);
}

/// x = e^(x - shift), and their sum.
inline float exp_and_sum(float* x, long width, float shift) {
  Vector total{};
  long i = 0;
  for (; i + lanes <= width; i += lanes) {
    const Vector e = exp(load(x + i) - shift);
    store(x + i, e);
    total += e;
  }
  if (const long left = width - i; left > 0) {
    const Vector e = keep_first(exp(load_partial(x + i, left) - shift), left);
    store_partial(x + i, e, left);
    total += e;
  }
  return reduce_add(total);
}

void cross_entropy(long rows, long V, float* logits, long ld, const std::int64_t* targets, float scale, float* losses) {
  for (long r = 0; r < rows; ++r, logits += ld) {
    if (targets[r] < 0) {
      losses[r] = 0;
      for_each_vector(V, [&](long i, auto, auto put) { put(logits + i, splat(0)); });
      continue;
    }
    const float target_logit = logits[targets[r]], max_logit = row_max(logits, V);
    const float total = exp_and_sum(logits, V, max_logit);
    losses[r] = __builtin_logf(total) + max_logit - target_logit;
    if (scale == 0) continue;
    const float factor = scale / total;
    for_each_vector(V, [&](long i, auto get, auto put) { put(logits + i, get(logits + i) * factor); });
    logits[targets[r]] -= scale;
  }
}

void mix_targets(long rows, long V, const std::int64_t* targets, const float* q, float share, float* dlogits, long ld) {
  for (long r = 0; r < rows; ++r, q += V, dlogits += ld) {
    if (targets[r] < 0) continue;
    for_each_vector(V, [&](long i, auto get, auto put) { put(dlogits + i, get(dlogits + i) - get(q + i) * share); });
    dlogits[targets[r]] += share;
  }
}

void add_softmax(long rows, long V, float* logits, float weight, float* q) {
  for (long r = 0; r < rows; ++r, logits += V, q += V) {
    const float factor = weight / exp_and_sum(logits, V, row_max(logits, V));
    for_each_vector(V, [&](long i, auto get, auto put) { put(q + i, get(q + i) + get(logits + i) * factor); });
  }
}

}  // namespace
}  // namespace chargpt::cpu
