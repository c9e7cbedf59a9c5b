// The rate and decay that each group of a model's parameters gets, and options of training that none obeys: from the
// options alone, before anything is built. Knows no value of a parameter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/load.h"

namespace chargpt {

/// Parameters that share rate, decay and update rule: of a group of train.groups, or of model.decay.
struct GroupInForce {
  std::string name;                            ///< "decay", "no_decay", or the pattern of train.groups
  double learning_rate = 0, weight_decay = 0;  ///< the rate at the peak of the schedule
  UpdateRule rule = UpdateRule::adamw;
  bool own_rate = false, own_decay = false;  ///< does not follow train.learning_rate, train.weight_decay
  std::int64_t parameters = 0;
};
/// Those that have parameters, in the order of train.groups. Error usage for a pattern that is none.
std::vector<GroupInForce> groups_in_force(const Config& config, std::int64_t vocab_size);

/// Error usage, by name, for an option that was set and that nothing in such a model or training obeys, as
/// refuse_unused_options() and besides: rate, decay and constants of the update rules that no group follows.
void refuse_unused(const ResolvedConfig& resolved);

}  // namespace chargpt
