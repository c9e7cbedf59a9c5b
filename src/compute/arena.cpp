#include "compute/arena.h"

#include <torch/nn/module.h>

#include <cstring>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/pattern.h"

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

torch::Tensor slot_of(const torch::Tensor& buffer, const ParameterSlot& slot) {
  return buffer.narrow(0, slot.offset, slot.numel).view(slot.shape);
}

/// Copies the parameters into flat buffers and turns them, and their gradients, into views of those.
void adopt(ParameterGroup& group, const std::vector<NamedParameter>& parameters) {
  std::int64_t size = 0;
  for (const NamedParameter& parameter : parameters) {
    group.slots.push_back({parameter.name, parameter.tensor.sizes().vec(), size, parameter.tensor.numel()});
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

std::string shape_of(const std::vector<std::int64_t>& shape) {
  std::ostringstream text;
  text << '(';
  for (std::size_t i = 0; i < shape.size(); ++i) text << (i ? ", " : "") << shape[i];
  text << ')';
  return text.str();
}

TensorView view_of(const std::string& name, const torch::Tensor& tensor) {
  const std::span bytes(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes());
  return {name, tensor.scalar_type() == torch::kInt64 ? "I64" : "F32", tensor.sizes().vec(), bytes};
}

/// Views of every slot of `buffer` under prefix + name; `storage` keeps the copy on the CPU.
void append_slots(const ParameterGroup& group, const torch::Tensor& buffer, const std::string& prefix,
                  std::vector<torch::Tensor>& storage, std::vector<TensorView>& views) {
  storage.push_back(buffer.cpu());
  for (const ParameterSlot& slot : group.slots)
    views.push_back(view_of(prefix + slot.name, slot_of(storage.back(), slot)));
}

const TensorView& expect(const SafetensorsFile& file, const std::string& source, const std::string& name,
                         const std::string& dtype, const std::vector<std::int64_t>& shape) {
  const TensorView* found = file.find(name);
  const std::string expected = dtype + " " + shape_of(shape);
  if (!found)
    throw Error(ExitCode::data, source + " has no tensor " + name + " (" + expected + "); it belongs to another model");
  if (found->dtype != dtype || found->shape != shape)
    throw Error(ExitCode::data, source + ": tensor " + name + " is " + found->dtype + " " + shape_of(found->shape) +
                                    " and should be " + expected + "; it belongs to another model");
  return *found;
}

void load_slots(const ParameterGroup& group, torch::Tensor& buffer, const std::string& prefix,
                const SafetensorsFile& file, const std::string& source) {
  torch::Tensor host = torch::zeros({buffer.numel()}, torch::kFloat32);
  for (const ParameterSlot& slot : group.slots) {
    const TensorView& found = expect(file, source, prefix + slot.name, "F32", slot.shape);
    if (slot.numel > 0)
      std::memcpy(host.mutable_data_ptr<float>() + slot.offset, found.bytes.data(), found.bytes.size());
  }
  buffer.copy_(host);
}

/// After every expected tensor was found: there may be no other.
void expect_no_more(const SafetensorsFile& file, const std::string& source, const std::set<std::string>& expected) {
  for (const TensorView& tensor : file.tensors())
    if (!expected.contains(tensor.name))
      throw Error(ExitCode::data,
                  source + " has a tensor that this model has not: " + tensor.name + "; it belongs to another model");
}

torch::Tensor copy_of(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.clone() : torch::Tensor();
}

/// Puts a copied moment back; one that did not exist then does not exist again.
void put_back(torch::Tensor& moment, const torch::Tensor& saved) {
  if (saved.defined())
    moment.copy_(saved);
  else
    moment.reset();
}

}  // namespace

ParameterArena::ParameterArena(LanguageModel& model, const TrainConfig& train) : device_(torch::kCPU) {
  const torch::NoGradGuard no_grad;
  std::vector<NamedParameter> parameters = distinct_parameters(model);
  if (!parameters.empty()) device_ = parameters.front().tensor.device();
  const auto add = [this](ParameterGroup group, const std::vector<NamedParameter>& members) {
    if (members.empty()) return;
    adopt(group, members);
    groups_.push_back(std::move(group));
  };
  for (std::size_t i = 0; i < train.groups.size(); ++i) {
    const GroupConfig& group = train.groups[i];
    const std::string option = "train.groups[" + std::to_string(i) + "].match";
    const std::regex pattern = compile_pattern(group.match, option);
    const auto members =
        take_if(parameters, [&](const NamedParameter& p) { return std::regex_search(p.name, pattern); });
    if (members.empty())
      throw Error(ExitCode::usage,
                  option + " = \"" + group.match +
                      "\" matches no parameter that an earlier group has left; `chargpt explain` lists the names");
    add({.name = group.match,
         .learning_rate = group.learning_rate,
         .weight_decay = group.weight_decay,
         .rule = group.optimizer},
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
  std::vector<torch::Tensor> norms{torch::zeros({}, torch::TensorOptions().dtype(torch::kFloat32).device(device_))};
  for (const ParameterGroup& group : groups_) norms.push_back(at::linalg_vector_norm(group.gradients));
  return at::linalg_vector_norm(at::stack(norms));
}

bool ParameterArena::is_finite() const {
  for (const ParameterGroup& group : groups_)
    if (!at::isfinite(group.values).all().item<bool>()) return false;
  return true;
}

torch::Tensor ParameterArena::parameter(const std::string& name) const {
  for (const ParameterGroup& group : groups_)
    for (const ParameterSlot& slot : group.slots)
      if (slot.name == name) return slot_of(group.values, slot);
  throw Error(ExitCode::internal, "the model has no parameter " + name);
}

ArenaSnapshot ParameterArena::snapshot() const {
  ArenaSnapshot snapshot{.values = {}, .moment1 = {}, .moment2 = {}, .updates = updates_};
  for (const ParameterGroup& group : groups_) {
    snapshot.values.push_back(copy_of(group.values));
    snapshot.moment1.push_back(copy_of(group.moment1));
    snapshot.moment2.push_back(copy_of(group.moment2));
  }
  return snapshot;
}

void ParameterArena::restore(const ArenaSnapshot& snapshot) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].values.copy_(snapshot.values[i]);
    put_back(groups_[i].moment1, snapshot.moment1[i]);
    put_back(groups_[i].moment2, snapshot.moment2[i]);
  }
  updates_ = snapshot.updates;
}

std::vector<TensorView> ParameterArena::model_tensors(std::vector<torch::Tensor>& storage) const {
  std::vector<TensorView> views;
  for (const ParameterGroup& group : groups_) append_slots(group, group.values, "", storage, views);
  return views;
}

std::vector<TensorView> ParameterArena::optimizer_tensors(std::vector<torch::Tensor>& storage) const {
  std::vector<TensorView> views;
  for (const ParameterGroup& group : groups_) {
    const bool started = group.moment1.defined();
    append_slots(group, started ? group.moment1 : torch::zeros_like(group.values), "moment1/", storage, views);
    append_slots(group, started ? group.moment2 : torch::zeros_like(group.values), "moment2/", storage, views);
  }
  storage.push_back(torch::tensor(updates_, torch::kInt64));
  views.push_back(view_of("step", storage.back()));
  return views;
}

void ParameterArena::load_model(const SafetensorsFile& file, const std::string& source) {
  std::set<std::string> expected;
  for (ParameterGroup& group : groups_) {
    load_slots(group, group.values, "", file, source);
    for (const ParameterSlot& slot : group.slots) expected.insert(slot.name);
  }
  expect_no_more(file, source, expected);
}

void ParameterArena::load_optimizer(const SafetensorsFile& file, const std::string& source) {
  std::set<std::string> expected{"step"};
  for (ParameterGroup& group : groups_) {
    group.moment1 = torch::zeros_like(group.values);
    group.moment2 = torch::zeros_like(group.values);
    load_slots(group, group.moment1, "moment1/", file, source);
    load_slots(group, group.moment2, "moment2/", file, source);
    for (const ParameterSlot& slot : group.slots) expected.insert({"moment1/" + slot.name, "moment2/" + slot.name});
  }
  std::memcpy(&updates_, expect(file, source, "step", "I64", {}).bytes.data(), sizeof updates_);
  if (updates_ < 0)
    throw Error(ExitCode::data, source + ": step = " + std::to_string(updates_) + " is negative; the file is damaged");
  expect_no_more(file, source, expected);
}

}  // namespace chargpt
