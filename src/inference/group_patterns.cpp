#include "inference/group_patterns.h"

#include "base/pattern.h"
#include "inference/update_rule.h"

namespace chargpt {

double peak_rate(const TrainConfig& train, const GroupConfig& group) {
  return group.learning_rate.value_or(group.lr_scale.value_or(1) * train.learning_rate);
}

double weight_decay(const TrainConfig& train, const GroupConfig& group) {
  return group.weight_decay.value_or(train.weight_decay);
}

GroupPatterns::GroupPatterns(const TrainConfig& train) : train_(train) {
  for (std::size_t i = 0; i < train.groups.size(); ++i)
    patterns_.push_back(compile_pattern(train.groups[i].match, option(i)));
}

std::optional<std::size_t> GroupPatterns::group_of(const std::string& parameter, std::int64_t dimensions) const {
  for (std::size_t i = 0; i < patterns_.size(); ++i)
    if (updates_dimensions(train_.groups[i].optimizer, dimensions) && std::regex_search(parameter, patterns_[i]))
      return i;
  return std::nullopt;
}

std::string GroupPatterns::option(std::size_t group) {
  return "train.groups[" + std::to_string(group) + "].match";
}

}  // namespace chargpt
