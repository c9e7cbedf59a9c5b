// A module with an arena of its parameters and an engine, and windows for it made from tensors: what tests of engines
// on any device begin with.
#pragma once

#include <torch/types.h>

#include "engine/cpu_engine.h"
#include "engine/engine.h"
#include "kept_windows.h"
#include "libtorch/engine.h"
#include "model/variants.h"
#include "train/learner.h"

namespace chargpt {

/// A window of T for each row of `ids` (B, T + 1) int64. What it views is kept until the program ends.
inline WindowBatch windows_of(const torch::Tensor& ids) {
  const torch::Tensor flat = ids.contiguous().view(-1);
  const auto* const first = flat.const_data_ptr<std::int64_t>();
  return kept_windows({first, first + flat.numel()}, ids.size(0));
}

/// Of each position, (B, T).
inline torch::Tensor losses_of(WindowScorer& scorer, const WindowBatch& windows) {
  torch::Tensor losses = torch::empty({windows.B(), windows.T});
  scorer.score(windows, {losses.data_ptr<float>(), static_cast<std::size_t>(losses.numel())});
  return losses;
}

/// (size): a view.
inline torch::Tensor tensor_of(const cpu::AlignedFloats& buffer) {
  return torch::from_blob(buffer.data(), {buffer.size()}, torch::kFloat32);
}

/// An arena with the module's weights.
struct ArenaOfModel : ParameterArena {
  ArenaOfModel(const LanguageModel& model, const TrainConfig& train)
      : ParameterArena(parameter_list(model.config(), model.vocab_size()), model.config().decay, train) {
    const torch::NoGradGuard no_grad;
    const auto registered = model.named_parameters();
    for (const Parameter& own : parameters())
      torch::from_blob(own.at(values.data()), own.shape, torch::kFloat32).copy_(registered[own.name]);
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

  Gradients step(std::int64_t number, const std::vector<WindowBatch>& batches, const SoftTargets& soft = {}) {
    Communicator alone;
    return make_step(*engine, arena, train, 1,
                     {.step = number, .seed = 5, .micro_batches = batches, .soft = soft, .tokens = counted(batches)},
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
