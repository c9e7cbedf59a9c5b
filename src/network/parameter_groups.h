// The groups that a model's parameters are trained in: which of train.groups each falls into, what rule, rate and decay
// that means, and options of training that no group obeys. From the options alone, before anything is built. The update
// rules themselves are in optimizer/. Knows no value of a parameter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/load.h"
#include "network/parameter_list.h"

namespace chargpt {

/// Every rule keeps a first moment of each parameter between updates; whether it keeps a second one.
bool keeps_second_moment(UpdateRule rule);

/// Parameters that share rate, decay and update rule: of a group of train.groups, or of model.decay.
struct GroupInForce {
  std::string name;                            ///< "decay", "no_decay", or the pattern of train.groups
  double learning_rate = 0, weight_decay = 0;  ///< the rate at the peak of the schedule
  UpdateRule rule = UpdateRule::adamw;
  double momentum = 0.95;  ///< of muon
  std::int64_t parameters = 0;
};
/// train.groups, and behind them those of all other parameters: one whose parameters decay, and one whose do not.
std::vector<GroupInForce> all_groups(const TrainConfig& train);

/// The place in all_groups() of each parameter's group: the first of train.groups whose pattern is found in its name
/// and whose rule can update its dimensions, else one of the two behind these. Error usage for a pattern that is none.
std::vector<std::size_t> groups_of(const std::vector<ParameterInfo>& parameters, Decay decay, const TrainConfig& train);

/// Those that have parameters, in the order of train.groups. Error usage for a pattern that is none.
std::vector<GroupInForce> groups_in_force(const Config& config, std::int64_t vocab_size);

/// Error usage, by name, for an option that was set and that changes nothing in such a model or training, whatever its
/// value: those of refuse_unused_options(), and biases, dropout, rates and constants that no parameter of any group
/// has.
void refuse_unused(const ResolvedConfig& resolved);

}  // namespace chargpt
