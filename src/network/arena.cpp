#include "network/arena.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "kernels/kernels.h"
#include "network/parameter_groups.h"

namespace chargpt {
namespace {

using cpu::AlignedFloats;

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
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : parameters) names.push_back(parameter.name);
  return names.empty() ? "; none is left" : "; left are " + some_of(names);
}

using Buffer = AlignedFloats ParameterGroup::*;

/// Views of every slot of a buffer that the group has, under prefix + name.
void append(const ParameterGroup& group, Buffer buffer, const std::string& prefix, std::vector<TensorView>& views) {
  if ((group.*buffer).empty()) return;
  for (const ParameterSlot& slot : group.slots)
    views.push_back({prefix + slot.name, "F32", slot.shape, std::as_bytes(slot.in(group.*buffer))});
}

std::vector<TensorView> views_of(std::span<const ParameterGroup> groups, Buffer buffer) {
  std::vector<TensorView> views;
  for (const ParameterGroup& group : groups) append(group, buffer, "", views);
  return views;
}

/// Reads every slot of a buffer that the group has; its names join `expected`.
void load(const ParameterGroup& group, Buffer buffer, const std::string& prefix, const Tensors& file,
          const std::string& source, std::set<std::string>& expected) {
  if ((group.*buffer).empty()) return;
  for (const ParameterSlot& slot : group.slots) {
    const std::string name = prefix + slot.name;
    const TensorView& tensor = expect_tensor(file, source, name, "F32", slot.shape);
    std::memcpy(slot.in(group.*buffer).data(), tensor.bytes.data(), tensor.bytes.size());
    expected.insert(name);
  }
}

void load_weights(std::span<const ParameterGroup> groups, Buffer buffer, const Tensors& file,
                  const std::string& source) {
  std::set<std::string> expected;
  for (const ParameterGroup& group : groups) {
    load(group, buffer, "", file, source, expected);
    if ((group.*buffer).empty()) continue;
    for (const ParameterSlot& slot : group.slots) expect_finite(slot.in(group.*buffer), source, slot.name);
  }
  expect_no_more(file, source, expected);
}

}  // namespace

ParameterArena::ParameterArena(const std::vector<ParameterInfo>& parameters, Decay decay, const TrainConfig& train) {
  const std::vector<std::size_t> group_of = groups_of(parameters, decay, train);
  const auto members = [&](std::size_t first, std::size_t last) {
    std::vector<ParameterInfo> found;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (group_of[i] >= first && group_of[i] <= last) found.push_back(parameters[i]);
    return found;
  };
  const std::vector<GroupInForce> groups = all_groups(train);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const GroupInForce& group = groups[i];
    const std::vector<ParameterInfo> own = members(i, i);
    if (own.empty() && i < train.groups.size())
      throw Error(ExitCode::usage, "train.groups[", i, "].match = \"", group.name, "\" matches no parameter for ",
                  enum_name(group.rule), " that an earlier group has left", listed(members(i, groups.size())));
    if (own.empty()) continue;
    groups_.push_back({.name = group.name,
                       .learning_rate = group.learning_rate,
                       .weight_decay = group.weight_decay,
                       .rule = group.rule,
                       .momentum = group.momentum});
    make_room(groups_.back(), own);
    for (const ParameterSlot& slot : groups_.back().slots)
      places_[slot.name] = {.group = static_cast<int>(groups_.size()) - 1, .offset = slot.offset, .numel = slot.numel};
  }
}

std::int64_t ParameterArena::numel() const {
  std::int64_t count = 0;
  for (const auto& [name, place] : places_) count += place.numel;
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

std::vector<cpu::Parameter> ParameterArena::places_of(const ModelConfig& config, std::int64_t vocab_size) const {
  const std::vector<ParameterInfo> parameters = parameter_list(config, vocab_size);
  std::vector<cpu::Parameter> places;
  for (const ParameterInfo& parameter : parameters)
    if (const auto found = places_.find(parameter.name);
        found != places_.end() && found->second.numel == parameter.numel())
      places.push_back(found->second);
  if (places.size() != parameters.size() || places.size() != places_.size())
    throw Error(ExitCode::internal, "the arena's parameters are not those of the model's options");
  return places;
}

std::vector<float*> ParameterArena::buffers(Buffer buffer) const {
  std::vector<float*> all;
  for (const ParameterGroup& group : groups_) all.push_back((group.*buffer).data());
  return all;
}

std::span<float> ParameterArena::values_of(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return {};
  const cpu::Parameter& place = found->second;
  const AlignedFloats& values = groups_[static_cast<std::size_t>(place.group)].values;
  return {values.data() + place.offset, static_cast<std::size_t>(place.numel)};
}

void start_moments(ParameterGroup& group) {
  if (group.moment1.empty()) group.moment1 = AlignedFloats(group.size());
  if (group.moment2.empty() && keeps_second_moment(group.rule)) group.moment2 = AlignedFloats(group.size());
}

std::vector<TensorView> ParameterArena::model_tensors() const {
  return views_of(groups_, &ParameterGroup::values);
}

std::vector<TensorView> ParameterArena::averaged_tensors() const {
  return views_of(groups_, &ParameterGroup::averages);
}

std::vector<TensorView> ParameterArena::optimizer_tensors() {
  std::vector<TensorView> views;
  for (ParameterGroup& group : groups_) {
    start_moments(group);
    append(group, &ParameterGroup::moment1, "moment1.", views);
    append(group, &ParameterGroup::moment2, "moment2.", views);
  }
  return views;
}

void ParameterArena::load_model(const Tensors& file, const std::string& source) {
  load_weights(groups_, &ParameterGroup::values, file, source);
}

void ParameterArena::load_averages(const Tensors& file, const std::string& source) {
  load_weights(groups_, &ParameterGroup::averages, file, source);
}

void ParameterArena::load_optimizer(const Tensors& file, std::int64_t updates, const std::string& source) {
  std::set<std::string> expected;
  for (ParameterGroup& group : groups_) {
    start_moments(group);
    load(group, &ParameterGroup::moment1, "moment1.", file, source, expected);
    load(group, &ParameterGroup::moment2, "moment2.", file, source, expected);
  }
  updates_ = updates;
  expect_no_more(file, source, expected);
}

}  // namespace chargpt
