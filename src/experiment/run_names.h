// What the runs of an experiment are called: each config once. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/load.h"

namespace chargpt {

/// The configs' names; the second of one name (or of one folder's name) is NAME-2, and so on.
std::vector<std::string> distinct_names(const std::vector<ResolvedConfig>& configs);

/// "default n_head=2" with seed 1337 -> "default-n_head=2-seed1337": a folder's name that a shell takes as one word.
std::string seed_folder_name(const std::string& name, std::int64_t seed);

}  // namespace chargpt
