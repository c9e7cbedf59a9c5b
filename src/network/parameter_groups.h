// Parameter groups of training: the parameters, rule, rate and decay of each group, and training options without
// effect on any group. Made only from the options. The update rules are in engine/. Independent of parameter
// values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/load.h"
#include "network/layers.h"

namespace chargpt {

/// True if the rule stores a second moment per parameter between updates; every rule stores a first one.
bool keeps_second_moment(UpdateRule rule);

/// Parameters that share rate, decay and update rule, and are contiguous in a flat buffer. Padding between them is
/// always zero.
struct ParameterGroup {
  std::string name;                            ///< "decay", "no_decay", or a pattern of train.groups
  double learning_rate = 0, weight_decay = 0;  ///< learning_rate: at the peak of the schedule
  UpdateRule rule = UpdateRule::adamw;
  double momentum = 0.95;           ///< for muon and muon_rows
  std::int64_t parameters = 0;      ///< number of values without padding
  std::int64_t begin = 0, end = 0;  ///< offsets in the buffer, in floats
  std::int64_t size() const { return end - begin; }
};

/// Sets the offset of every parameter, group after group: first train.groups, then all other parameters with decay,
/// then those without. A parameter is in the first group whose pattern matches and whose rule can update it (muon: only
/// matrices, so that "\\.h\\." may match gains too). Returns the groups that are not empty. Throws Error usage if a
/// pattern is not a regular expression or its group would be empty.
std::vector<ParameterGroup> lay_out(std::span<Parameter> parameters, Decay decay, const TrainConfig& train);

/// Returns the groups of such a model. Throws the errors of lay_out().
std::vector<ParameterGroup> groups_in_force(const Config& config, std::int64_t vocab_size);

/// Throws Error usage, with the option's name, if a set option has no effect on such a model or training, whatever its
/// value: the options of refuse_unused_options(), and biases, dropout, rates and constants that do not apply to any
/// parameter group.
void refuse_unused(const ResolvedConfig& resolved);

}  // namespace chargpt
