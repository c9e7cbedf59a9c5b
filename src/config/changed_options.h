// In what two configs differ, for people. Knows no option by name.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// "train.max_iters 2000 -> 4000" for every option of `section` ("" for all) that differs, in the order of declaration.
std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section = "");

}  // namespace chargpt
