// What the runs of an experiment are called: each config once. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace chargpt {

/// The configs' names; the second of one name (or of one folder's name) is NAME-2, and so on.
std::vector<std::string> distinct_names(const std::vector<ResolvedConfig>& configs);

}  // namespace chargpt
