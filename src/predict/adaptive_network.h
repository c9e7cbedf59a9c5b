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

/// Weights that learn, as a model: a base class, so that it exists before the predictor that uses it.
struct LearningModel {
  explicit LearningModel(const InferenceModel& trained);
  cpu::AlignedFloats values;  ///< w, at first a copy
  InferenceModel model;       ///< uses `values`
};

class AdaptiveNetwork : private LearningModel, public NetworkPredictor {
 public:
  /// Starts with a copy of the weights of `trained`, which do not change. Windows to learn from are computed on one
  /// thread, other windows on `threads`.
  AdaptiveNetwork(const InferenceModel& trained, int threads, const Adaptation& adaptation);

  /// One forward pass computes the losses or logits and the gradient of the step.
  void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) override;
  void logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits) override;

 private:
  void pack();
  void step(const TokenView& tokens, const WindowCut::Window& window, float* logits);
  void update();

  Adaptation adaptation_;
  cpu::Plan plan_;                                    ///< with the offsets of the model's plan
  cpu::AlignedFloats trained_, gradients_, squares_;  ///< w0, g and v
  cpu::ModelWeights weights_;
  cpu::ForwardBackward pass_;
  std::vector<float> losses_;  ///< (T)
  std::int64_t steps_ = 0;
};

}  // namespace chargpt
