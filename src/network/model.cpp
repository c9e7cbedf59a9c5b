#include "network/model.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "network/arena.h"
#include "network/model_types.h"

namespace chargpt {

Weights chosen_weights(const Checkpoint& checkpoint, Weights which) {
  if (which == Weights::averaged && checkpoint.averaged.empty())
    throw Error(ExitCode::usage,
                checkpoint.path.string() + " has no averaged weights (train.ema); use the trained ones");
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

InferenceModel::InferenceModel(const Checkpoint& checkpoint, Weights which)
    : config_(checkpoint.config.config.model), weights_(chosen_weights(checkpoint, which)) {
  check_model_config(config_);
  plan_ = cpu::plan_of(config_, checkpoint.vocabulary.size());
  own_ = cpu::AlignedFloats(plan_.floats);
  values_ = own_.data();
  read_weights(parameter_list(plan_), weights_ == Weights::averaged ? checkpoint.averaged : checkpoint.model,
               checkpoint.path.string(), own_.data());
}

InferenceModel::InferenceModel(const ModelConfig& config, cpu::Plan plan, const float* values)
    : config_(config), plan_(std::move(plan)), values_(values) {}

std::uint64_t weights_digest(const InferenceModel& model) {
  std::uint64_t digest = 0;
  for_each_parameter(model.plan(), [&](const Parameter& parameter) {
    digest = crc64(std::as_bytes(parameter.in(model.values())), digest);
  });
  return digest;
}

}  // namespace chargpt
