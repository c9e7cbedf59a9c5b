// Chooses the learning rate of --adapt by trials on the end of the training split, never on the text to score.
// Independent of files.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "network/model.h"
#include "predict/adaptive_network.h"

namespace chargpt {

/// A network learns less from text that it was trained on: for each of four models the best rate there was at most half
/// of the best rate on new text (predict/README.md). So each rate is tried there at half its value.
struct AdaptationTrial {
  double rate = 0;
  double loss = 0;  ///< on the end of the training split, at half of the rate; nats per token
};

struct AdaptationChoice {
  Adaptation adaptation;
  std::int64_t tokens = 0;                ///< tokens at the end of the training split used for the trials
  std::vector<AdaptationTrial> trials{};  ///< empty if the rate was not chosen or the text was too short
};

/// Tries some rates on the last twentieth of `train` (at most 50,000 tokens), in the windows of adaptive_loss().
/// Chooses the highest rate within 0.001 nats per token of the best loss. The result does not depend on
/// `threads`.
AdaptationChoice choose_adaptation(const InferenceModel& model, TokenView train, int threads,
                                   const Heartbeat& heartbeat = {});

}  // namespace chargpt
