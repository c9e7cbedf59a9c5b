// In what two configs differ, for people. Knows no option by name.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// An option and its value in each of several configs, as JSON: "train.max_iters", {"2000", "4000"}.
struct DifferingOption {
  std::string key;
  std::vector<std::string> values;
};
/// Every option of `section` ("" for all) that is not the same in all configs, in the order of declaration.
std::vector<DifferingOption> differing_options(const std::vector<Config>& configs, const std::string& section = "");

/// "train.max_iters 2000 -> 4000" for every option of `section` ("" for all) that differs, in the order of declaration.
std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section = "");

/// Removes the lines on these options, "sample." for all of a section.
void leave_out(std::vector<std::string>& changes, std::initializer_list<std::string_view> options);

}  // namespace chargpt
