// A module with an arena of its parameters and an engine, and batches for it: what tests of engines on any device begin
// with.
#pragma once

#include <torch/types.h>

#include <set>

#include "engine/cpu_engine.h"
#include "engine/engine.h"
#include "libtorch/engine.h"
#include "model/variants.h"
#include "train/learner.h"
#include "windows_of.h"

namespace chargpt {

/// The module's distinct parameters, as an arena wants them.
inline std::vector<Parameter> module_parameters(const LanguageModel& model) {
  std::vector<Parameter> parameters;
  for (const auto& item : model.named_parameters())
    parameters.push_back({.name = item.key(),
                          .shape = item.value().sizes().vec(),
                          .stacked = item.key().ends_with("attn.c_attn.weight") ? 3 : 1});
  return parameters;
}

/// (size): a view.
inline torch::Tensor tensor_of(const cpu::AlignedFloats& buffer) {
  return torch::from_blob(buffer.data(), {buffer.size()}, torch::kFloat32);
}

/// The values of the named parameter: a view.
inline torch::Tensor parameter_of(const ParameterArena& arena, const std::string& name) {
  const Parameter& parameter = *std::ranges::find(arena.parameters(), name, &Parameter::name);
  return torch::from_blob(parameter.at(arena.values.data()), parameter.shape, torch::kFloat32);
}

/// An arena with the module's weights.
struct ArenaOfModel : ParameterArena {
  ArenaOfModel(const LanguageModel& model, const TrainConfig& train)
      : ParameterArena(module_parameters(model), model.config().decay, train) {
    const torch::NoGradGuard no_grad;
    for (const auto& item : model.named_parameters()) parameter_of(*this, item.key()).copy_(item.value());
  }
};

struct ModelInTraining {
  /// `engine_name`: "libtorch" or "cpu".
  ModelInTraining(std::shared_ptr<LanguageModel> model_in, const std::string& engine_name, const TrainConfig& train_in,
                  const std::string& device = "cpu")
      : train(train_in), model(std::move(model_in)), arena(*model, train) {
    const EngineRequest request{
        .model = model->config(), .vocab_size = model->vocab_size(), .train = train, .arena = arena, .device = device};
    engine = engine_name == "cpu" ? make_cpu_engine(request) : make_libtorch_engine(model, request);
  }
  /// A module outlives the arena that its parameters were views of.
  ModelInTraining(LanguageModel& model_in, const std::string& engine_name, const TrainConfig& train_in)
      : ModelInTraining(std::shared_ptr<LanguageModel>(std::shared_ptr<void>(), &model_in), engine_name, train_in) {}
  ~ModelInTraining() {
    const torch::NoGradGuard no_grad;
    for (const auto& item : model->named_parameters()) {
      torch::Tensor parameter = item.value();
      parameter.set_data(parameter_of(arena, item.key()).clone());
      parameter.mutable_grad() = torch::Tensor();
    }
  }
  ModelInTraining(const ModelInTraining&) = delete;
  ModelInTraining& operator=(const ModelInTraining&) = delete;

  StepResult step(std::int64_t number, const std::vector<WindowBatch>& batches, const SoftTargets& soft = {}) {
    OneProcess alone;
    return make_step(*engine, arena, train, 1, {.step = number, .seed = 5, .micro_batches = batches, .soft = soft},
                     alone);
  }
  TrainConfig train;
  std::shared_ptr<LanguageModel> model;
  ArenaOfModel arena;
  std::unique_ptr<Engine> engine;
};

/// B windows of T.
inline WindowBatch some_batch(std::int64_t B, std::int64_t T, std::int64_t shift = 0) {
  return windows_of(some_ids(B, T + 1, shift));
}

}  // namespace chargpt
