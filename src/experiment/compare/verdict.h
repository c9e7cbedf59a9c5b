// What a comparison found, in one plain sentence. Pure; knows how nothing is printed.
#pragma once

#include <string>

#include "experiment/compare/ranking.h"

namespace chargpt {

/// "learning_rate=3e-3 is ahead in both seeds but not yet certain; try --seeds 4": the best against the next best, with
/// what would decide between them. Empty where fewer than two configs are ranked.
std::string verdict(const Comparison& comparison);

}  // namespace chargpt
