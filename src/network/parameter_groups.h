// The groups that a model's parameters are trained in: what falls into each of train.groups, with what rule, rate and
// decay, and options of training that no group obeys. From the options alone, before anything is built. The update
// rules themselves are in engine/. Knows no value of a parameter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/load.h"
#include "network/layers.h"

namespace chargpt {

/// Every rule keeps a first moment of each parameter between updates; whether it keeps a second one.
bool keeps_second_moment(UpdateRule rule);

/// Parameters that share rate, decay and update rule, and lie side by side in a flat buffer. Padding between them is
/// zero and stays so.
struct ParameterGroup {
  std::string name;                            ///< "decay", "no_decay", or the pattern of train.groups
  double learning_rate = 0, weight_decay = 0;  ///< the rate at the peak of the schedule
  UpdateRule rule = UpdateRule::adamw;
  double momentum = 0.95;           ///< of muon
  std::int64_t parameters = 0;      ///< values without padding
  std::int64_t begin = 0, end = 0;  ///< floats of the buffer
  std::int64_t size() const { return end - begin; }
};

/// Gives every parameter its offset, group after group: train.groups first, then those of all other parameters, one
/// that decays and one that does not. A group takes what its pattern matches, its rule can update (muon: matrices, so
/// that "\\.h\\." may match gains too) and no group before it takes. Returns the groups that have parameters. Error
/// usage for a pattern that is not a regular expression, or that leaves its group without parameters.
std::vector<ParameterGroup> lay_out(std::span<Parameter* const> parameters, Decay decay, const TrainConfig& train);

/// The groups of such a model. Errors as lay_out().
std::vector<ParameterGroup> groups_in_force(const Config& config, std::int64_t vocab_size);

/// Error usage, by name, for an option that was set and that changes nothing in such a model or training, whatever its
/// value: those of refuse_unused_options(), and biases, dropout, rates and constants that no parameter of any group
/// has.
void refuse_unused(const ResolvedConfig& resolved);

}  // namespace chargpt
