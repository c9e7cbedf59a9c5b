// The arena in a checkpoint's files: written and read; see arena.h.
#include <cstring>
#include <set>

#include "base/error.h"
#include "parameters/arena.h"

namespace chargpt {
namespace {

using cpu::AlignedFloats;
using Buffer = AlignedFloats ParameterGroup::*;

/// Views of every slot of a buffer that the group has, under prefix + name.
void append(const ParameterGroup& group, Buffer buffer, const std::string& prefix, std::vector<TensorView>& views) {
  if ((group.*buffer).empty()) return;
  for (const ParameterSlot& slot : group.slots)
    views.push_back({prefix + slot.name, "F32", slot.shape, std::as_bytes(slot.in(group.*buffer))});
}

/// Reads every slot of a buffer that the group has; its names join `expected`.
void load(const ParameterGroup& group, Buffer buffer, const std::string& prefix, const SafetensorsFile& file,
          const std::string& source, std::set<std::string>& expected) {
  if ((group.*buffer).empty()) return;
  for (const ParameterSlot& slot : group.slots) {
    const std::string name = prefix + slot.name;
    const TensorView& tensor = expect_tensor(file, source, name, "F32", slot.shape);
    std::memcpy(slot.in(group.*buffer).data(), tensor.bytes.data(), tensor.bytes.size());
    expected.insert(name);
  }
}

void load_weights(std::span<const ParameterGroup> groups, Buffer buffer, const SafetensorsFile& file,
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

std::vector<TensorView> ParameterArena::model_tensors() const {
  std::vector<TensorView> views;
  for (const ParameterGroup& group : groups_) append(group, &ParameterGroup::values, "", views);
  return views;
}

std::vector<TensorView> ParameterArena::averaged_tensors() const {
  std::vector<TensorView> views;
  for (const ParameterGroup& group : groups_) append(group, &ParameterGroup::averages, "", views);
  return views;
}

std::vector<TensorView> ParameterArena::optimizer_tensors() {
  std::vector<TensorView> views;
  for (ParameterGroup& group : groups_) {
    start_moments(group);
    append(group, &ParameterGroup::moment1, "moment1/", views);
    append(group, &ParameterGroup::moment2, "moment2/", views);
  }
  views.push_back({"step", "I64", {}, std::as_bytes(std::span(&updates_, 1))});
  return views;
}

void ParameterArena::load_model(const SafetensorsFile& file, const std::string& source) {
  load_weights(groups_, &ParameterGroup::values, file, source);
}

void ParameterArena::load_averages(const SafetensorsFile& file, const std::string& source) {
  load_weights(groups_, &ParameterGroup::averages, file, source);
}

void ParameterArena::load_optimizer(const SafetensorsFile& file, const std::string& source) {
  std::set<std::string> expected{"step"};
  for (ParameterGroup& group : groups_) {
    start_moments(group);
    load(group, &ParameterGroup::moment1, "moment1/", file, source, expected);
    load(group, &ParameterGroup::moment2, "moment2/", file, source, expected);
  }
  std::memcpy(&updates_, expect_tensor(file, source, "step", "I64", {}).bytes.data(), sizeof updates_);
  if (updates_ < 0)
    throw Error(ExitCode::data, source + ": step = " + std::to_string(updates_) + " is negative; the file is damaged");
  expect_no_more(file, source, expected);
}

}  // namespace chargpt
