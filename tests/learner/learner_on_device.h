// A learner of a small model on a text made of a formula, on any device, and its steps.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device.h"
#include "learner/device_steps.h"
#include "learner/learner.h"
#include "ranks/communicator.h"

namespace chargpt {

inline Corpus formula_corpus() {
  std::string text;
  for (std::size_t i = 0; i < 1200; ++i) text += "abcdefghijkl.\n"[(3 * i + i / 11) % 14];
  return corpus_from_text(text, DataConfig{}, "a text");
}

inline Config config_of_all() {
  Config config;
  config.model.n_layer = 2;
  config.model.n_head = 2;
  config.model.n_embd = 16;
  config.model.block_size = 8;
  config.model.dropout = 0.2;
  config.train.batch_size = 3;
  config.train.gradient_accumulation_steps = 2;
  config.train.max_iters = 20;
  config.train.warmup_iters = 3;
  config.train.learning_rate = 1e-2;
  config.train.grad_clip = 0.5;
  config.train.ema = 0.9;
  config.train.groups = {
      {.match = "attn|mlp", .learning_rate = 1e-2, .weight_decay = 0.1, .optimizer = UpdateRule::muon}};
  return config;
}

struct LearnerOnDevice {
  explicit LearnerOnDevice(const std::string& engine, const Config& config_in = config_of_all(),
                           const std::string& device = "cpu")
      : config(config_in), text(formula_corpus()), learner(config, text, choose_device(device), engine, alone) {}

  /// `count` steps one by one from `first` on, as many of them made at once as the learner likes.
  std::vector<StepResult> steps(std::int64_t first, std::int64_t count) {
    std::vector<StepResult> results;
    for (std::int64_t i = first; i < first + count; ++i) {
      results.push_back(learner.make_step(i, first + count, {}));
      learner.follow();
    }
    return results;
  }
  /// The first steps in one call, at these parts of the rate.
  std::vector<StepResult> at_once(const std::vector<double>& lr_factors, WorkRecorder recorder = record) {
    steps_here = std::make_unique<DeviceSteps>(*learner.engine->recordable(), learner.arena, learner.averages,
                                               config.train, std::move(recorder));
    starts.clear();
    for (std::int64_t i = 0; i < std::ssize(lr_factors); ++i) {
      const std::vector<std::int64_t> more = learner.batches.starts(i);
      starts.insert(starts.end(), more.begin(), more.end());
    }
    const WindowBatch windows = learner.batches.micro_batches(starts).front();
    return steps_here->take(0, lr_factors,
                            {windows.tokens, windows.T, windows.B(), config.train.gradient_accumulation_steps, starts});
  }

  const Config config;
  OneProcess alone;
  Corpus text;
  Learner learner;
  std::vector<std::int64_t> starts;
  std::unique_ptr<DeviceSteps> steps_here;
};

inline std::vector<double> losses_of(const std::vector<StepResult>& results) {
  std::vector<double> losses;
  for (const StepResult& result : results) losses.push_back(result.loss);
  return losses;
}

/// Weights, moments and averages, one behind the other.
inline torch::Tensor state_of(const Learner& learner) {
  std::vector<torch::Tensor> parts;
  for (const ParameterGroup& group : learner.arena.groups())
    for (const torch::Tensor& buffer : {group.values, group.moment1, group.moment2})
      if (buffer.defined()) parts.push_back(buffer);
  for (const torch::Tensor& buffer : learner.averages.buffers()) parts.push_back(buffer);
  return at::cat(parts).cpu().clone();
}

inline double relative_difference(const torch::Tensor& expected, const torch::Tensor& got) {
  return (expected - got).norm().item<double>() / expected.norm().item<double>();
}

}  // namespace chargpt
