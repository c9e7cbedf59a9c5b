// A model with its arena and an engine, and batches for it: what tests of engines on any device begin with.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "learner/step.h"
#include "model/variants.h"
#include "windows_of.h"

namespace chargpt {

struct ModelInTraining {
  ModelInTraining(std::shared_ptr<LanguageModel> model_in, const std::string& engine_name, const TrainConfig& train_in)
      : train(train_in),
        model(std::move(model_in)),
        arena(*model, train),
        engine(make_engine(engine_name, *model, arena, train)) {}
  StepResult step(std::int64_t number, const std::vector<WindowBatch>& batches) {
    return make_step(*engine, arena, train, 1, {.step = number, .seed = 5, .micro_batches = batches});
  }
  TrainConfig train;
  std::shared_ptr<LanguageModel> model;
  ParameterArena arena;
  std::unique_ptr<Engine> engine;
};

/// B windows of T.
inline WindowBatch some_batch(std::int64_t B, std::int64_t T, std::int64_t shift = 0) {
  return windows_of(some_ids(B, T + 1, shift));
}

}  // namespace chargpt
