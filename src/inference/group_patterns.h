// Which of train.groups a parameter falls into, and what rate and decay that means. Knows no tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// The rate at the peak of the schedule: the group's own, or lr_scale times train.learning_rate.
double peak_rate(const TrainConfig& train, const GroupConfig& group);
/// The group's own weight decay, or train.weight_decay.
double weight_decay(const TrainConfig& train, const GroupConfig& group);

class GroupPatterns {
 public:
  /// Error usage for a pattern that is none; `train` must outlive it.
  explicit GroupPatterns(const TrainConfig& train);
  /// The first whose pattern is found in the name and whose rule can update so many dimensions; none: those of
  /// model.decay.
  std::optional<std::size_t> group_of(const std::string& parameter, std::int64_t dimensions) const;
  /// "train.groups[1].match"
  static std::string option(std::size_t group);

 private:
  const TrainConfig& train_;
  std::vector<std::regex> patterns_;
};

}  // namespace chargpt
