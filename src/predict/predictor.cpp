#include "predict/predictor.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace chargpt {

void Predictor::score(const WindowBatch& windows, std::span<float> losses) {
  const std::int64_t V = vocab_size();
  std::vector<float> rows(static_cast<std::size_t>(windows.numel() * V));
  std::vector<std::int64_t> targets(losses.size());
  logits(windows, rows);
  windows.copy_targets(targets.data());
  cpu::kernels().cross_entropy(windows.numel(), V, rows.data(), V, targets.data(), 0, losses.data());
}

void Predictor::score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) {
  std::vector<float> all(static_cast<std::size_t>(window.length));
  score({.tokens = tokens, .starts = {&window.begin, 1}, .T = window.length}, all);
  std::copy(all.begin() + window.from, all.begin() + window.to, losses.begin());
}

void Predictor::logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits) {
  this->logits({.tokens = tokens, .starts = {&window.begin, 1}, .T = window.length}, logits);
}

}  // namespace chargpt
