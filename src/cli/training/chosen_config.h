// What `train --minutes M` without a config trains: a preset's shape by the time and the size of the text, from a small
// table of measurements. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "config/load.h"

namespace chargpt {

struct ChosenConfig {
  std::string preset;
  Override passes;  ///< over the text at most: train.max_epochs
  std::string why;  ///< a line for people
};

/// `train_tokens`: of the text's train split.
ChosenConfig chosen_config(double minutes, std::int64_t train_tokens);

/// train.max_seconds of `minutes`.
Override seconds_of(double minutes);

}  // namespace chargpt
