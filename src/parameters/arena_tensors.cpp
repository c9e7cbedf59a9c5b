// The arena in a checkpoint's files: written and read; see arena.h.
#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "parameters/arena.h"

namespace chargpt {
namespace {

TensorView view_of(const std::string& name, const torch::Tensor& tensor) {
  const std::span bytes(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes());
  return {name, tensor.scalar_type() == torch::kInt64 ? "I64" : "F32", tensor.sizes().vec(), bytes};
}

/// Views of every slot of `buffer` under prefix + name; `storage` keeps the copy on the CPU.
void append(const ParameterGroup& group, const torch::Tensor& buffer, const std::string& prefix,
            std::vector<torch::Tensor>& storage, std::vector<TensorView>& views) {
  storage.push_back(buffer.cpu());
  for (const ParameterSlot& slot : group.slots)
    views.push_back(view_of(prefix + slot.name, slot_of(storage.back(), slot)));
}

std::span<std::byte> bytes_of(const ParameterSlot& slot, torch::Tensor& buffer) {
  return std::as_writable_bytes(std::span(buffer.mutable_data_ptr<float>() + slot.offset, slot.numel));
}

/// Reads every slot of `buffer`; returns the names in the file.
std::set<std::string> load_slots(const ParameterGroup& group, torch::Tensor& buffer, const std::string& prefix,
                                 const SafetensorsFile& file, const std::string& source) {
  std::set<std::string> names;
  torch::Tensor host = buffer.is_cpu() ? buffer : torch::zeros({buffer.numel()});
  for (const ParameterSlot& slot : group.slots) {
    const std::string name = prefix + slot.name;
    std::ranges::copy(expect_tensor(file, source, name, "F32", slot.shape).bytes, bytes_of(slot, host).begin());
    names.insert(name);
  }
  if (!buffer.is_cpu()) buffer.copy_(host);
  return names;
}

void expect_finite_slots(const ParameterGroup& group, const torch::Tensor& buffer, const std::string& source) {
  const torch::Tensor host = buffer.cpu();  // no copy where it is there already
  for (const ParameterSlot& slot : group.slots)
    expect_finite({host.const_data_ptr<float>() + slot.offset, static_cast<std::size_t>(slot.numel)}, source,
                  slot.name);
}

}  // namespace

std::vector<TensorView> ParameterArena::model_tensors(std::vector<torch::Tensor>& storage) const {
  std::vector<TensorView> views;
  for (const ParameterGroup& group : groups_) append(group, group.values, "", storage, views);
  return views;
}

std::vector<TensorView> ParameterArena::tensors_of(std::span<const torch::Tensor> buffers,
                                                   std::vector<torch::Tensor>& storage) const {
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < groups_.size(); ++i) append(groups_[i], buffers[i], "", storage, views);
  return views;
}

void ParameterArena::load_into(std::span<torch::Tensor> buffers, const SafetensorsFile& file,
                               const std::string& source) const {
  std::set<std::string> expected;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    expected.merge(load_slots(groups_[i], buffers[i], "", file, source));
    expect_finite_slots(groups_[i], buffers[i], source);
  }
  expect_no_more(file, source, expected);
}

std::vector<TensorView> ParameterArena::optimizer_tensors(std::vector<torch::Tensor>& storage) const {
  std::vector<TensorView> views;
  for (ParameterGroup group : groups_) {  // a copy, so that moments not there yet are zero in the file and not here
    start_moments(group);
    if (group.moment1.defined()) append(group, group.moment1, "moment1/", storage, views);
    if (group.moment2.defined()) append(group, group.moment2, "moment2/", storage, views);
  }
  storage.push_back(torch::tensor(updates_, torch::kInt64));
  views.push_back(view_of("step", storage.back()));
  return views;
}

void ParameterArena::load_model(const SafetensorsFile& file, const std::string& source) {
  std::set<std::string> expected;
  for (ParameterGroup& group : groups_) {
    expected.merge(load_slots(group, group.values, "", file, source));
    expect_finite_slots(group, group.values, source);
  }
  expect_no_more(file, source, expected);
}

void ParameterArena::load_optimizer(const SafetensorsFile& file, const std::string& source) {
  std::set<std::string> expected{"step"};
  for (ParameterGroup& group : groups_) {
    start_moments(group);
    if (group.moment1.defined()) expected.merge(load_slots(group, group.moment1, "moment1/", file, source));
    if (group.moment2.defined()) expected.merge(load_slots(group, group.moment2, "moment2/", file, source));
  }
  std::memcpy(&updates_, expect_tensor(file, source, "step", "I64", {}).bytes.data(), sizeof updates_);
  if (updates_ < 0)
    throw Error(ExitCode::data, source + ": step = " + std::to_string(updates_) + " is negative; the file is damaged");
  expect_no_more(file, source, expected);
}

}  // namespace chargpt
