// A trained network that goes on learning: after each stretch of a text it takes a gradient step on what it has just
// predicted. Source: dynamic evaluation, Krause et al. (2018, arXiv 1709.07432; 2019, arXiv 1904.08378); README.md has
// what was measured. Knows no file, and not where the rate comes from.
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

/// Of one step, w being the weights, w0 the trained ones and g the gradient of the mean loss of what was scored:
/// v = alpha v + (1 - alpha) g^2, w -= rate g / (sqrt(v / (1 - alpha^step)) + 1e-8), w += decay (w0 - w), alpha =
/// 0.999. README.md has what was measured.
struct Adaptation {
  double rate = 2e-4, decay = 5e-4;
};

class AdaptiveNetwork : public Predictor {
 public:
  /// Begins with a copy of the weights of `trained`, which stay as they are. Windows that it learns from are computed
  /// by one thread, others by `threads`.
  AdaptiveNetwork(const InferenceModel& trained, int threads, const Adaptation& adaptation);

  std::int64_t vocab_size() const override { return model_.vocab_size(); }
  std::int64_t block_size() const override { return model_.block_size(); }
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override { return network_.at_once(); }
  void logits(const WindowBatch& windows, std::span<float> logits) override;
  void score(const WindowBatch& windows, std::span<float> losses) override;

  /// Both by one forward pass, whose losses and logits these are, and whose gradient the step takes.
  void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) override;
  void logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits) override;

 private:
  void pack();
  void step(const TokenView& tokens, const WindowCut::Window& window, float* logits);
  void update();
  NetworkPredictor& network();

  Adaptation adaptation_;
  cpu::Plan plan_;
  cpu::AlignedFloats trained_, values_, gradients_, squares_;  ///< w0, w, g and v, as the plan lays them out
  InferenceModel model_;                                       ///< of these values
  NetworkPredictor network_;
  bool network_is_behind_ = false;
  cpu::ModelWeights weights_;
  cpu::ForwardBackward pass_;
  std::vector<float> losses_;  ///< (T)
  std::int64_t steps_ = 0;
};

}  // namespace chargpt
