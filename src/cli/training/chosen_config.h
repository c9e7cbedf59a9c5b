// Chooses the preset for `train --minutes M` without a config, from the steps that it completes in that time and the
// size of the text, by a small table of measurements. Independent of the trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/load.h"

namespace chargpt {

/// A preset is the best of its table from `steps` steps on (configs/README.md, "What to expect"), on texts of at least
/// `tokens` training tokens. Below `least_minutes` no machine is expected to complete that many steps, so the preset is
/// not tried.
struct TimedPreset {
  std::string name;
  double least_minutes;
  std::int64_t steps, tokens;
  std::string passes;  ///< train.max_epochs: more would overfit
};

/// Returns the steps of a preset that fit into the time; the largest int64 if the epoch limit ends it first.
using StepsWithin = std::function<std::int64_t(const TimedPreset& preset)>;

/// `train_tokens`: of the train split. Calls `steps_within` for one preset after another, largest first.
const TimedPreset& chosen_preset(double minutes, std::int64_t train_tokens, const StepsWithin& steps_within);

/// Adds train.max_seconds to the given options if `minutes` is not 0: those minutes plus `used` seconds.
std::vector<Override> with_minutes(std::vector<Override> given, double minutes, double used = 0);

}  // namespace chargpt
