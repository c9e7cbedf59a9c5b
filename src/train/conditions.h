// The conditions under which a run repeats bit for bit, and what a resumed run has changed of them. Knows no tensor.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace chargpt {

/// One line per condition (version, threads, device, …) that differs, for a resumed run that so is not bit-exact.
std::vector<std::string> differing_conditions(const RunState& then, const RunState& now);

/// "train.max_iters 2000 -> 4000" for every option of `section` ("" for all) that differs, in the order of declaration.
std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section = "");

/// Options of a schedule that cannot be meant: warm-up longer than the run, decay that ends after it, a rate that
/// rises.
std::vector<std::string> schedule_warnings(const TrainConfig& train);

}  // namespace chargpt
