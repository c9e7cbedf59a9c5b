// The models that every property is tested on, as LibTorch modules, and what tests compute with them.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <torch/types.h>

#include <memory>

#include "model/first_model.h"
#include "model/language_model.h"
#include "model/registry.h"
#include "network/variants.h"

namespace chargpt {

/// Tensors this small are slower with two threads, and slower by far when the machine is busy.
class OneThread {
 public:
  OneThread() { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = at::get_num_threads();
};

/// For cases that need no gradients.
struct NoGradients : OneThread {
  const torch::NoGradGuard no_grad;
};

/// Moves every parameter, gains and biases too, away from what leaves a gradient zero or a layer idle.
inline void disturb(LanguageModel& model) {
  const torch::NoGradGuard no_grad;
  double phase = 0;
  for (torch::Tensor& parameter : model.parameters()) {
    parameter.add_(
        0.1 *
        torch::sin(torch::arange(1, parameter.numel() + 1, torch::kFloat32) * 1.7 + phase).view(parameter.sizes()));
    phase += 0.5;
  }
}

inline std::shared_ptr<LanguageModel> disturbed_model(const ModelConfig& config) {
  auto model = make_model(config, test_vocab, 3);
  disturb(*model);
  return model;
}

/// (B, T) ids that follow no rule but never repeat the first column: a prefix tells its row.
inline torch::Tensor some_ids(std::int64_t B, std::int64_t T, std::int64_t shift = 0) {
  const auto position = at::arange(B * T).reshape({B, T}) + shift;
  auto ids = (position * position * 7 + position * 3 + position.div(5, "floor") * 5) % test_vocab;
  ids.select(1, 0).copy_((at::arange(B) + shift) % test_vocab);
  return ids;
}

/// logits (B, T, V), targets (B, T) -> mean nats.
inline torch::Tensor mean_loss(const torch::Tensor& logits, const torch::Tensor& targets) {
  return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten());
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace chargpt
