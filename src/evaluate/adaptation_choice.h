// The rate at which a network adapts, by trials on the end of the text that it was trained on: never on what is scored.
// Knows no file.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "network/model.h"
#include "predict/adaptive_network.h"

namespace chargpt {

/// A network has less to learn from text that it was trained on: the best rate there was half of the best rate on new
/// text, or less, for each of four models (predict/README.md). So each rate is tried there at half.
struct AdaptationTrial {
  double rate = 0;
  double loss = 0;  ///< of the end of the train split, adapting at half of the rate; nats per token
};

struct AdaptationChoice {
  Adaptation adaptation;
  std::int64_t tokens = 0;                ///< of the end of the train split, where the rates were tried
  std::vector<AdaptationTrial> trials{};  ///< empty: the rate was not chosen, or the text was too short
};

/// The best of some rates, or the highest that is within 0.001 nats per token of it, on the last twentieth of `train`,
/// 50,000 tokens at most, in the windows of adaptive_loss(). By `threads` threads, whose number does not change the
/// result.
AdaptationChoice choose_adaptation(const InferenceModel& model, TokenView train, int threads,
                                   const Heartbeat& heartbeat = {});

}  // namespace chargpt
