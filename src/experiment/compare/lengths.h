// Whether the configs of a comparison train equally long, said before any of them does. Pure; knows no run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/load.h"

namespace chargpt {

/// "configs differ in training tokens: a 1.20M, b 3.10M; …", or in steps or seconds, with what makes them equal; empty
/// where they do not. `train_tokens`: of the train split, for lengths in epochs. Error usage as steps_of_epochs.
std::string length_difference(const std::vector<ResolvedConfig>& configs, const std::vector<std::string>& names,
                              std::int64_t train_tokens);

}  // namespace chargpt
