#include "predict/adaptive_network.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace chargpt {
namespace {

constexpr double alpha = 0.999, eps = 1e-8;

}  // namespace

LearningModel::LearningModel(const InferenceModel& trained)
    : values(trained.plan().floats), model(trained.config(), trained.plan(), values.data()) {
  std::copy_n(trained.values(), values.size(), values.data());
}

AdaptiveNetwork::AdaptiveNetwork(const InferenceModel& trained, int threads, const Adaptation& adaptation)
    : LearningModel(trained),
      NetworkPredictor(model, threads),
      adaptation_(adaptation),
      plan_(cpu::plan_of(model.config(), model.vocab_size(), cpu::Packing::both)),
      trained_(values.copy()),
      gradients_(values.size()),
      squares_(values.size()),
      weights_{.values = values.data(), .packed = cpu::AlignedFloats(plan_.packed_floats)},
      pass_(plan_, weights_),
      losses_(static_cast<std::size_t>(model.block_size())) {
  pack();
}

/// Packs the current weights.
void AdaptiveNetwork::pack() {
  cpu::pack_weights(plan_, weights_, 0, 1);
  take_weights();
}

/// Computes losses_ of the window, and `logits` unless null, before the step.
void AdaptiveNetwork::step(const TokenView& tokens, const WindowCut::Window& window, float* logits) {
  const WindowBatch windows{.tokens = tokens, .starts = {&window.begin, 1}, .T = window.length};
  check_windows(windows, vocab_size(), block_size());
  pass_.prepare(1, window.length);
  pass_.begin(gradients_.data());
  pass_.run({.windows = windows, .from = window.from, .scale = 1.0F / static_cast<float>(window.to - window.from)},
            losses_.data(), logits);
  update();
}

void AdaptiveNetwork::score_and_learn(const TokenView& tokens, const WindowCut::Window& window,
                                      std::span<float> losses) {
  step(tokens, window, nullptr);
  std::copy(losses_.begin() + window.from, losses_.begin() + window.to, losses.begin());
}

void AdaptiveNetwork::logits_and_learn(const TokenView& tokens, const WindowCut::Window& window,
                                       std::span<float> logits) {
  step(tokens, window, logits.data());
}

void AdaptiveNetwork::update() {
  const cpu::Kernels& kernels = cpu::kernels();
  ++steps_;
  // RMSprop is Adam without the first moment: the gradient replaces it.
  const cpu::AdamwFactors by{
      .scale = 1,
      .fresh1 = 1,
      .fresh2 = static_cast<float>(1 - alpha),
      .beta2 = static_cast<float>(alpha),
      .eps = static_cast<float>(eps),
      .kept = 1,
      .step = static_cast<float>(adaptation_.rate),
      .inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(alpha, static_cast<double>(steps_))))};
  kernels.adamw(by, values.size(), gradients_.data(), values.data(), gradients_.data(), squares_.data());
  kernels.lerp(static_cast<float>(adaptation_.decay), values.size(), trained_.data(), values.data());
  pack();
}

}  // namespace chargpt
