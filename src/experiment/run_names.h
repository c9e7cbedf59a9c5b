// What the runs of an experiment are called: each config once, and one folder name for each. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace chargpt {

/// "ladder/bigram" -> "ladder-bigram": one folder's name. A config's name never climbs out of a folder.
std::string folder_name(std::string name);

/// The configs' names; the second of one name (or of one folder's name) is NAME-2, and so on.
std::vector<std::string> distinct_names(const std::vector<ResolvedConfig>& configs);

}  // namespace chargpt
