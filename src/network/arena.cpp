#include "network/arena.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "kernels/kernels.h"

namespace chargpt {
namespace {

/// Adds views of these parameters in `buffer`, named prefix + name.
void append(std::span<const Parameter> parameters, const float* buffer, const std::string& prefix,
            std::vector<TensorView>& views) {
  for (const Parameter& parameter : parameters)
    views.push_back({prefix + parameter.name, "F32", parameter.shape, std::as_bytes(parameter.in(buffer))});
}

/// Reads these parameters into `to`; adds their names to `expected`.
void load(std::span<const Parameter> parameters, const std::string& prefix, const Tensors& file,
          const std::string& source, std::set<std::string>& expected, float* to) {
  for (const Parameter& parameter : parameters) {
    const std::string name = prefix + parameter.name;
    const TensorView& tensor = expect_tensor(file, source, name, "F32", parameter.shape);
    std::memcpy(parameter.at(to), tensor.bytes.data(), tensor.bytes.size());
    expected.insert(name);
  }
}

}  // namespace

void read_weights(std::span<const Parameter> parameters, const Tensors& file, const std::string& source, float* to) {
  std::set<std::string> expected;
  load(parameters, "", file, source, expected, to);
  for (const Parameter& parameter : parameters) expect_finite(parameter.in(to), source, parameter.name);
  expect_no_more(file, source, expected);
}

ParameterArena::ParameterArena(std::vector<Parameter> parameters, Decay decay, const TrainConfig& train)
    : parameters_(std::move(parameters)), groups_(lay_out(parameters_, decay, train)) {
  std::ranges::sort(parameters_, {}, &Parameter::offset);
  values = cpu::AlignedFloats(groups_.back().end);
  gradients = cpu::AlignedFloats(values.size());
}

std::span<const Parameter> ParameterArena::parameters_of(const ParameterGroup& group) const {
  const auto at = [this](std::int64_t offset) {
    return std::ranges::lower_bound(parameters_, offset, {}, &Parameter::offset);
  };
  return {at(group.begin), at(group.end)};
}

std::int64_t ParameterArena::numel() const {
  std::int64_t count = 0;
  for (const ParameterGroup& group : groups_) count += group.parameters;
  return count;
}

void ParameterArena::start_moments() {
  const auto keeps_second = [](const ParameterGroup& group) { return keeps_second_moment(group.rule); };
  if (moment1.empty()) moment1 = cpu::AlignedFloats(values.size());
  if (moment2.empty() && std::ranges::any_of(groups_, keeps_second)) moment2 = cpu::AlignedFloats(values.size());
}

double ParameterArena::gradient_norm() const {
  double squares = 0;
  for (const ParameterGroup& group : groups_)
    squares += cpu::kernels().sum_buffers(gradients.data() + group.begin, nullptr, 0, static_cast<long>(group.size()));
  return std::sqrt(squares);
}

bool ParameterArena::is_finite() const {
  return std::ranges::all_of(values.all(), [](float value) { return std::isfinite(value); });
}

std::vector<TensorView> ParameterArena::weights_in(const cpu::AlignedFloats& buffer) const {
  std::vector<TensorView> views;
  if (!buffer.empty()) append(parameters_, buffer.data(), "", views);
  return views;
}

std::vector<TensorView> ParameterArena::optimizer_tensors() {
  start_moments();
  std::vector<TensorView> views;
  for (const ParameterGroup& group : groups_) {
    append(parameters_of(group), moment1.data(), "moment1.", views);
    if (keeps_second_moment(group.rule)) append(parameters_of(group), moment2.data(), "moment2.", views);
  }
  return views;
}

void ParameterArena::load_optimizer(const Tensors& file, std::int64_t updates, const std::string& source) {
  start_moments();
  std::set<std::string> expected;
  for (const ParameterGroup& group : groups_) {
    load(parameters_of(group), "moment1.", file, source, expected, moment1.data());
    if (keeps_second_moment(group.rule)) load(parameters_of(group), "moment2.", file, source, expected, moment2.data());
  }
  updates_ = updates;
  expect_no_more(file, source, expected);
}

cpu::Plan plan_in(const ParameterArena& arena, const ModelConfig& model, std::int64_t vocab_size,
                  const TrainConfig& train, cpu::Packing packing) {
  cpu::Plan plan = cpu::plan_of(model, vocab_size, packing, &train);
  if (plan.floats != arena.values.size())
    throw Error(ExitCode::internal, "the arena was not created for the model's options");
  return plan;
}

}  // namespace chargpt
