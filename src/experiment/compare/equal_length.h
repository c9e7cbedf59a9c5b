// `--equal`: what all configs of a comparison get as much of as the first one. Knows no run and no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/load.h"

namespace chargpt {

/// nothing: every config keeps its own length.
CHARGPT_ENUM(Equal, nothing, updates, tokens, seconds);

/// How long the first config trains.
struct Length {
  std::int64_t updates = 0;
  double seconds = 0;
};

/// The part of the first config's length that `equal` is about, if its options tell: updates unless it is limited by
/// seconds, seconds only where that limit alone ends it. None: it must be trained first. `train_tokens`: of the train
/// split. Error usage as steps_of_epochs.
std::optional<Length> known_length(const ResolvedConfig& first, Equal equal, std::int64_t train_tokens);

/// Gives all but the first config the first one's `length`: its updates, the nearest number of updates that sees as
/// many tokens (at least 1), or its seconds as train.max_seconds. Returns what was equalised, for the table's readers.
std::string equalise(std::vector<ResolvedConfig>& configs, Equal equal, const Length& length);

}  // namespace chargpt
