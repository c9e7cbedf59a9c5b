// What `train --minutes M` without a config trains: a preset's shape by the steps that it makes in that time and the
// size of the text, from a small table of measurements. Knows no trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/load.h"

namespace chargpt {

struct ChosenConfig {
  std::string preset;
  Override passes;  ///< over the text at most: train.max_epochs
};

/// How many steps of a preset this machine makes in the time; the largest int64 if the limit of epochs ends it first.
using StepsWithin = std::function<std::int64_t(const std::string& preset, const Override& passes)>;

/// `train_tokens`: of the text's train split. `steps_within` is asked for one preset after the other, largest first.
ChosenConfig chosen_config(double minutes, std::int64_t train_tokens, const StepsWithin& steps_within);

/// A line for people on the choice, which has become `config`.
std::string chosen_text(const ChosenConfig& chosen, const Config& config, double minutes, std::int64_t train_tokens);

/// The options that were given and, where --minutes was, train.max_seconds: those minutes and `used` seconds. Error
/// usage where --max_seconds was given too.
std::vector<Override> with_minutes(std::vector<Override> given, double minutes, double used = 0);

}  // namespace chargpt
