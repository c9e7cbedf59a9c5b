// Chooses the preset for `train --minutes M` without a config, from the steps that it completes in that time and the
// size of the text, by a small table of measurements. Independent of the trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/load.h"

namespace chargpt {

struct ChosenConfig {
  std::string preset;
  Override passes;  ///< maximum passes over the text: train.max_epochs
};

/// Returns the steps of a preset that fit into the time; the largest int64 if the epoch limit ends it first.
using StepsWithin = std::function<std::int64_t(const std::string& preset, const Override& passes)>;

/// `train_tokens`: of the train split. Calls `steps_within` for one preset after another, largest first.
ChosenConfig chosen_config(double minutes, std::int64_t train_tokens, const StepsWithin& steps_within);

/// A log line about the choice.
std::string chosen_text(const ChosenConfig& chosen, double minutes, std::int64_t train_tokens);

/// Adds train.max_seconds to the given options if `minutes` is not 0: those minutes plus `used` seconds. Throws Error
/// usage if --max_seconds was given too.
std::vector<Override> with_minutes(std::vector<Override> given, double minutes, double used = 0);

}  // namespace chargpt
