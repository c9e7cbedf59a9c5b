#include "predict/adaptive_network.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace chargpt {
namespace {

constexpr double alpha = 0.999, eps = 1e-8;

}  // namespace

AdaptiveNetwork::AdaptiveNetwork(const InferenceModel& trained, int threads, const Adaptation& adaptation)
    : adaptation_(adaptation),
      plan_(cpu::plan_of(trained.config(), trained.vocab_size(), cpu::Packing::both)),
      trained_(plan_.floats),
      values_(plan_.floats),
      gradients_(plan_.floats),
      squares_(plan_.floats),
      model_(trained.config(), cpu::plan_of(trained.config(), trained.vocab_size()), values_.data()),
      network_(model_, threads),
      weights_{.values = values_.data(), .packed = cpu::AlignedFloats(plan_.packed_floats)},
      pass_(plan_, weights_),
      losses_(static_cast<std::size_t>(trained.block_size())) {
  std::copy_n(trained.values(), plan_.floats, trained_.data());
  std::ranges::copy(trained_.all(), values_.data());
  pack();
}

/// Packs the current weights.
void AdaptiveNetwork::pack() {
  cpu::pack_weights(plan_, weights_, /*bf16=*/nullptr, 0, 1);
  network_is_behind_ = true;
}

// ---- prediction

/// The predictor with the current weights.
NetworkPredictor& AdaptiveNetwork::network() {
  if (network_is_behind_) network_.take_weights();
  network_is_behind_ = false;
  return network_;
}

Predictor::Rows AdaptiveNetwork::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  return network().start(ids, sequences);
}

Predictor::Rows AdaptiveNetwork::advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) {
  return network().advance(rows, ids);
}

void AdaptiveNetwork::logits(const WindowBatch& windows, std::span<float> logits) {
  network().logits(windows, logits);
}

void AdaptiveNetwork::score(const WindowBatch& windows, std::span<float> losses) {
  network().score(windows, losses);
}

// ---- learning

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
  kernels.adamw(by, plan_.floats, gradients_.data(), values_.data(), gradients_.data(), squares_.data());
  kernels.lerp(static_cast<float>(adaptation_.decay), plan_.floats, trained_.data(), values_.data());
  pack();
}

}  // namespace chargpt
