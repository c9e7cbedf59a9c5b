#include "parameters/arena.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "inference/group_patterns.h"
#include "inference/update_rule.h"

namespace chargpt {
namespace {

/// Slots begin at multiples of this many floats (a cache line), so that kernels see aligned matrices.
constexpr std::int64_t alignment = 16;

std::int64_t aligned(std::int64_t offset) {
  return (offset + alignment - 1) / alignment * alignment;
}

struct NamedParameter {
  std::string name;
  torch::Tensor tensor;
};

/// Each distinct parameter once, under the first name it is registered by.
std::vector<NamedParameter> distinct_parameters(const LanguageModel& model) {
  std::vector<NamedParameter> parameters;
  std::set<const void*> seen;
  for (const auto& item : model.named_parameters())
    if (seen.insert(item.value().unsafeGetTensorImpl()).second) parameters.push_back({item.key(), item.value()});
  return parameters;
}

/// Takes out of `parameters` those that `belongs` says, in order.
template <class Predicate>
std::vector<NamedParameter> take_if(std::vector<NamedParameter>& parameters, const Predicate& belongs) {
  std::vector<NamedParameter> taken, rest;
  for (NamedParameter& parameter : parameters) (belongs(parameter) ? taken : rest).push_back(std::move(parameter));
  parameters = std::move(rest);
  return taken;
}

/// Copies the parameters into flat buffers and turns them, and their gradients, into views of those.
void adopt(ParameterGroup& group, const std::vector<NamedParameter>& parameters, const LanguageModel& model) {
  std::int64_t size = 0;
  for (const NamedParameter& parameter : parameters) {
    group.slots.push_back({parameter.name, parameter.tensor.sizes().vec(), size, parameter.tensor.numel(),
                           model.stacked_matrices(parameter.name)});
    size = aligned(size + parameter.tensor.numel());
  }
  const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(parameters.front().tensor.device());
  group.values = torch::zeros({size}, options);
  group.gradients = torch::zeros({size}, options);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    torch::Tensor parameter = parameters[i].tensor;
    const torch::Tensor view = slot_of(group.values, group.slots[i]);
    view.copy_(parameter);
    parameter.set_data(view);
    parameter.mutable_grad() = slot_of(group.gradients, group.slots[i]);
  }
}

/// "; left are a.weight, b.weight and 7 more"
std::string listed(const std::vector<NamedParameter>& parameters) {
  constexpr std::size_t most = 3;
  if (parameters.empty()) return "; none is left";
  std::string text = "; left are ";
  for (std::size_t i = 0; i < std::min(most, parameters.size()); ++i) text += (i > 0 ? ", " : "") + parameters[i].name;
  return parameters.size() <= most ? text : text + " and " + std::to_string(parameters.size() - most) + " more";
}

}  // namespace

torch::Tensor slot_of(const torch::Tensor& buffer, const ParameterSlot& slot) {
  return buffer.narrow(0, slot.offset, slot.numel).view(slot.shape);
}

ParameterArena::ParameterArena(LanguageModel& model, const TrainConfig& train) : device_(torch::kCPU) {
  const torch::NoGradGuard no_grad;
  std::vector<NamedParameter> parameters = distinct_parameters(model);
  if (!parameters.empty()) device_ = parameters.front().tensor.device();
  const auto add = [&](ParameterGroup group, const std::vector<NamedParameter>& members) {
    if (members.empty()) return;
    adopt(group, members, model);
    groups_.push_back(std::move(group));
  };
  const GroupPatterns patterns(train);
  for (std::size_t i = 0; i < train.groups.size(); ++i) {
    const GroupConfig& group = train.groups[i];
    const auto members =
        take_if(parameters, [&](const NamedParameter& p) { return patterns.group_of(p.name, p.tensor.dim()) == i; });
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
  const bool all_decay = model.config().decay == Decay::all;
  const auto decayed = take_if(parameters, [&](const NamedParameter& p) { return all_decay || p.tensor.dim() >= 2; });
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
  for (ParameterGroup& group : groups_) group.gradients.zero_();
}

torch::Tensor ParameterArena::gradient_norm() const {
  std::vector<torch::Tensor> norms;
  for (const ParameterGroup& group : groups_) norms.push_back(at::linalg_vector_norm(group.gradients));
  norms.push_back(torch::zeros({}, torch::TensorOptions().dtype(torch::kFloat32).device(device_)));
  return at::linalg_vector_norm(at::stack(norms));
}

bool ParameterArena::is_finite() const {
  for (const ParameterGroup& group : groups_) {
    const auto [least, most] = at::aminmax(group.values);  // a value that is no number is both
    if (!std::isfinite(least.item<float>()) || !std::isfinite(most.item<float>())) return false;
  }
  return true;
}

torch::Tensor ParameterArena::parameter(const std::string& name) const {
  for (const ParameterGroup& group : groups_)
    for (const ParameterSlot& slot : group.slots)
      if (slot.name == name) return slot_of(group.values, slot);
  throw Error(ExitCode::internal, "the model has no parameter " + name);
}

void start_moments(ParameterGroup& group) {
  const MomentsKept kept = moments_kept(group.rule);
  if (kept.first && !group.moment1.defined()) group.moment1 = torch::zeros_like(group.values);
  if (kept.second && !group.moment2.defined()) group.moment2 = torch::zeros_like(group.values);
}

}  // namespace chargpt
