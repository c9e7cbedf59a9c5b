// How much arithmetic a training step is, and how fast this machine's processors do arithmetic at best: what a measured
// time is compared with. Knows no engine.
#pragma once

#include <cstdint>
#include <optional>

#include "config/config.h"

namespace chargpt {

/// Floating-point operations of one training step on `tokens` tokens in windows of T: 6 for each weight of a matrix
/// product and token, and attention over the keys that a query may see, backward at 2.5 times forward. None for types
/// other than gpt.
std::optional<double> step_operations(const ModelConfig& config, std::int64_t vocab_size, std::int64_t tokens,
                                      std::int64_t T);

/// Fused multiply-adds in registers on all threads in force, float32: operations a second. Takes a fifth of a second.
double measured_peak();

}  // namespace chargpt
