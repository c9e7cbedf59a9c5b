// A trained network that learns while it scores: after each window it takes a gradient step on the targets that it has
// just predicted. Source: dynamic evaluation, Krause et al. (2018, arXiv 1709.07432; 2019, arXiv 1904.08378); README.md
// links the measurements. Independent of files and of the choice of the rate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cpu/forward_backward.h"
#include "kernels/buffers.h"
#include "network/model.h"
#include "network/plan.h"
#include "predict/network.h"

namespace chargpt {

/// Rates of one step with weights w, trained weights w0 and the gradient g of the mean loss of the scored targets:
/// v = alpha v + (1 - alpha) g^2, w -= rate g / (sqrt(v / (1 - alpha^step)) + 1e-8), w += decay (w0 - w),
/// with alpha = 0.999. README.md links the measurements.
struct Adaptation {
  double rate = 2e-4, decay = 5e-4;
};

class AdaptiveNetwork : public Predictor {
 public:
  /// Starts with a copy of the weights of `trained`, which do not change. Windows to learn from are computed on one
  /// thread, other windows on `threads`.
  AdaptiveNetwork(const InferenceModel& trained, int threads, const Adaptation& adaptation);

  std::int64_t vocab_size() const override { return model_.vocab_size(); }
  std::int64_t block_size() const override { return model_.block_size(); }
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override { return network_.at_once(); }
  void logits(const WindowBatch& windows, std::span<float> logits) override;
  void score(const WindowBatch& windows, std::span<float> losses) override;

  /// One forward pass computes the losses or logits and the gradient of the step.
  void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) override;
  void logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits) override;

 private:
  void pack();
  void step(const TokenView& tokens, const WindowCut::Window& window, float* logits);
  void update();
  NetworkPredictor& network();

  Adaptation adaptation_;
  cpu::Plan plan_;
  cpu::AlignedFloats trained_, values_, gradients_, squares_;  ///< w0, w, g and v, in the layout of the plan
  InferenceModel model_;                                       ///< uses values_
  NetworkPredictor network_;
  bool network_is_behind_ = false;
  cpu::ModelWeights weights_;
  cpu::ForwardBackward pass_;
  std::vector<float> losses_;  ///< (T)
  std::int64_t steps_ = 0;
};

}  // namespace chargpt
