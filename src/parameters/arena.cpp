#include "parameters/arena.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "inference/group_patterns.h"
#include "inference/update_rule.h"
#include "kernels/kernels.h"

namespace chargpt {
namespace {

using cpu::AlignedFloats;

/// Takes out of `parameters` those that `belongs` says, in order.
template <class Predicate>
std::vector<ParameterInfo> take_if(std::vector<ParameterInfo>& parameters, const Predicate& belongs) {
  std::vector<ParameterInfo> taken, rest;
  for (ParameterInfo& parameter : parameters) (belongs(parameter) ? taken : rest).push_back(std::move(parameter));
  parameters = std::move(rest);
  return taken;
}

/// Slots begin at cache lines, so that kernels see aligned matrices.
void make_room(ParameterGroup& group, const std::vector<ParameterInfo>& parameters) {
  std::int64_t size = 0;
  for (const ParameterInfo& parameter : parameters) {
    group.slots.push_back({parameter.name, parameter.shape, size, parameter.numel(), parameter.stacked});
    size = cpu::rounded_up(size + parameter.numel(), cpu::cache_line);
  }
  group.values = AlignedFloats(size);
  group.gradients = AlignedFloats(size);
}

/// "; left are a.weight, b.weight and 7 more"
std::string listed(const std::vector<ParameterInfo>& parameters) {
  constexpr std::size_t most = 3;
  if (parameters.empty()) return "; none is left";
  std::string text = "; left are ";
  for (std::size_t i = 0; i < std::min(most, parameters.size()); ++i) text += (i > 0 ? ", " : "") + parameters[i].name;
  return parameters.size() <= most ? text : text + " and " + std::to_string(parameters.size() - most) + " more";
}

std::int64_t dimensions(const ParameterInfo& parameter) {
  return std::ssize(parameter.shape);
}

}  // namespace

ParameterArena::ParameterArena(std::vector<ParameterInfo> parameters, Decay decay, const TrainConfig& train) {
  const auto add = [&](ParameterGroup group, const std::vector<ParameterInfo>& members) {
    if (members.empty()) return;
    make_room(group, members);
    groups_.push_back(std::move(group));
  };
  const GroupPatterns patterns(train);
  for (std::size_t i = 0; i < train.groups.size(); ++i) {
    const GroupConfig& group = train.groups[i];
    const auto members =
        take_if(parameters, [&](const ParameterInfo& p) { return patterns.group_of(p.name, dimensions(p)) == i; });
    if (members.empty())
      throw Error(ExitCode::usage, GroupPatterns::option(i) + " = \"" + group.match + "\" matches no parameter for " +
                                       std::string(enum_name(group.optimizer)) + " that an earlier group has left" +
                                       listed(parameters));
    add({.name = group.match,
         .learning_rate = peak_rate(train, group),
         .weight_decay = weight_decay(train, group),
         .rule = group.optimizer,
         .momentum = group.momentum},
        members);
  }
  const auto decayed =
      take_if(parameters, [&](const ParameterInfo& p) { return decay == Decay::all || dimensions(p) >= 2; });
  add({.name = "decay", .learning_rate = train.learning_rate, .weight_decay = train.weight_decay}, decayed);
  add({.name = "no_decay", .learning_rate = train.learning_rate, .weight_decay = 0}, parameters);
}

std::int64_t ParameterArena::numel() const {
  std::int64_t count = 0;
  for (const ParameterGroup& group : groups_)
    for (const ParameterSlot& slot : group.slots) count += slot.numel;
  return count;
}

void ParameterArena::zero_gradients() {
  for (const ParameterGroup& group : groups_) std::ranges::fill(group.gradients.all(), 0.0F);
}

double ParameterArena::gradient_norm() const {
  double squares = 0;
  for (const ParameterGroup& group : groups_)
    squares += cpu::kernels().sum_buffers(group.gradients.data(), nullptr, 0, static_cast<long>(group.size()));
  return std::sqrt(squares);
}

bool ParameterArena::is_finite() const {
  return std::ranges::all_of(groups_, [](const ParameterGroup& group) {
    return std::ranges::all_of(group.values.all(), [](float value) { return std::isfinite(value); });
  });
}

std::span<float> ParameterArena::values_of(const std::string& name) const {
  for (const ParameterGroup& group : groups_)
    for (const ParameterSlot& slot : group.slots)
      if (slot.name == name) return slot.in(group.values);
  return {};
}

ArenaSnapshot ParameterArena::snapshot() const {
  ArenaSnapshot snapshot{.groups = {}, .updates = updates_};
  for (const ParameterGroup& group : groups_)
    snapshot.groups.push_back({group.values.copy(), group.moment1.copy(), group.moment2.copy(), group.averages.copy()});
  return snapshot;
}

void ParameterArena::restore(const ArenaSnapshot& snapshot) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const ArenaSnapshot::Buffers& saved = snapshot.groups[i];
    std::ranges::copy(saved.values.all(), groups_[i].values.data());
    groups_[i].moment1 = saved.moment1.copy();
    groups_[i].moment2 = saved.moment2.copy();
    groups_[i].averages = saved.averages.copy();
  }
  updates_ = snapshot.updates;
}

void start_moments(ParameterGroup& group) {
  const MomentsKept kept = moments_kept(group.rule);
  if (kept.first && group.moment1.empty()) group.moment1 = AlignedFloats(group.size());
  if (kept.second && group.moment2.empty()) group.moment2 = AlignedFloats(group.size());
}

}  // namespace chargpt
