// Cross-entropy of logits (rows, V), and its gradient in their place:
//
//   loss = log(sum_j e^(logits_j - max)) + max - logits_target
//   dlogits = scale (softmax(logits) - onehot(target))
//
// Compiled once per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

inline float row_largest(const float* x, long width) {
  constexpr float least = -__builtin_inff();
  Vector found = splat(least);
  long i = 0;
  for (; i + lanes <= width; i += lanes) found = larger(found, load(x + i));
  if (i < width) found = larger(found, load_some(x + i, width - i, least));
  return largest(found);
}

/// x = e^(scale x - shift), and their sum.
inline float row_exponentials(float* x, long width, float scale, float shift) {
  Vector total{};
  long i = 0;
  for (; i + lanes <= width; i += lanes) {
    const Vector e = exponential(load(x + i) * scale - shift);
    store(x + i, e);
    total += e;
  }
  if (const long left = width - i; left > 0) {
    const Vector e = only_first(exponential(load_some(x + i, left) * scale - shift), left);
    store_some(x + i, e, left);
    total += e;
  }
  return sum(total);
}

void cross_entropy(long rows, long V, float* logits, long ld, const std::int64_t* targets, float scale, float* losses) {
  for (long r = 0; r < rows; ++r, logits += ld) {
    const float of_target = logits[targets[r]], most = row_largest(logits, V);
    const float total = row_exponentials(logits, V, 1, most);
    losses[r] = __builtin_logf(total) + most - of_target;
    if (scale == 0) continue;
    const float share = scale / total;
    for_each_vector(V, [&](long i, auto get, auto put) { put(logits + i, get(logits + i) * share); });
    logits[targets[r]] -= scale;
  }
}

}  // namespace
}  // namespace chargpt::cpu
