#include "network/model.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "network/model_types.h"
#include "network/parameter_list.h"

namespace chargpt {

Weights chosen_weights(const Checkpoint& checkpoint, Weights which) {
  if (which == Weights::averaged && checkpoint.averaged.empty())
    throw Error(ExitCode::usage,
                checkpoint.path.string() + " has no averaged weights: its run had train.ema = 0; use the trained ones");
  if (which == Weights::trained || checkpoint.averaged.empty()) return Weights::trained;
  const RunState& state = checkpoint.state;
  const bool trained = which == Weights::better && !(state.averaged_val_loss < state.val_loss);
  return trained ? Weights::trained : Weights::averaged;
}

void check_ids(std::span<const std::int64_t> ids, std::int64_t vocab_size, const std::string& whose) {
  const auto bad = std::ranges::find_if(ids, [&](std::int64_t id) { return id < 0 || id >= vocab_size; });
  if (bad != ids.end())
    throw Error(ExitCode::internal, whose, " has id ", *bad, "; the model has ids 0 to ", vocab_size - 1);
}

WeightsFile::WeightsFile(const Checkpoint& checkpoint, Weights which)
    : file_(which == Weights::averaged ? checkpoint.averaged : checkpoint.model), source_(checkpoint.path.string()) {}

const float* WeightsFile::values(const std::string& name, const std::vector<std::int64_t>& shape,
                                 std::vector<std::shared_ptr<float[]>>& own) {
  const std::span<const std::byte> bytes = expect_tensor(file_, source_, name, "F32", shape).bytes;
  asked_.insert(name);
  const auto* found = reinterpret_cast<const float*>(bytes.data());
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) != 0) {
    own.push_back(std::make_shared<float[]>(bytes.size() / sizeof(float)));
    std::memcpy(own.back().get(), bytes.data(), bytes.size());
    found = own.back().get();
  }
  expect_finite({found, static_cast<std::size_t>(numel_of(shape))}, source_, name);
  return found;
}

void InferenceModel::read(const ParameterValues& values) {
  std::vector<cpu::Parameter> places;
  for (const ParameterInfo& info : parameter_list(config_, vocab_size_)) {
    values_.push_back(values(info.name, info.shape));
    places.push_back({.group = static_cast<int>(places.size()), .offset = 0, .numel = info.numel()});
    parameters_.push_back({info, values_.back()});
  }
  plan_ = cpu::plan_of(config_, vocab_size_, places, cpu::Packing::forward);
}

InferenceModel::InferenceModel(const Checkpoint& checkpoint, Weights which)
    : config_(checkpoint.config.config.model),
      vocab_size_(checkpoint.vocabulary.size()),
      weights_(chosen_weights(checkpoint, which)) {
  check_model_config(config_);
  WeightsFile trained(checkpoint, Weights::trained);
  std::optional<WeightsFile> averaged;
  if (weights_ == Weights::averaged) averaged.emplace(checkpoint, Weights::averaged);
  read([&](const std::string& name, const std::vector<std::int64_t>& shape) {
    if (!trained.has(name))
      throw Error(ExitCode::data, trained.source(), " does not hold the weights that its config asks for; it has no ",
                  name);
    const float* const of_training = trained.values(name, shape, own_);
    return averaged && averaged->has(name) ? averaged->values(name, shape, own_) : of_training;
  });
  trained.expect_no_more();
  if (averaged) averaged->expect_no_more();
}

InferenceModel::InferenceModel(const ModelConfig& config, std::int64_t vocab_size, const ParameterValues& values)
    : config_(config), vocab_size_(vocab_size) {
  read([&](const std::string& name, const std::vector<std::int64_t>& shape) {
    const float* const found = values(name, shape);
    if (found == nullptr)
      throw Error(ExitCode::internal, "the model's parameters are not those of its options: ", name);
    return found;
  });
}

std::uint64_t weights_digest(const InferenceModel& model) {
  std::uint64_t digest = 0;
  for (const NamedParameter& parameter : model.parameters())
    digest = crc64(std::as_bytes(std::span(parameter.values, static_cast<std::size_t>(parameter.numel()))), digest);
  return digest;
}

}  // namespace chargpt
