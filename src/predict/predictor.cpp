#include "predict/predictor.h"

#include <algorithm>

namespace chargpt {

void Predictor::score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) {
  std::vector<float> all(static_cast<std::size_t>(window.length));
  score({.tokens = tokens, .starts = {&window.begin, 1}, .T = window.length}, all);
  std::copy(all.begin() + window.from, all.begin() + window.to, losses.begin());
}

void Predictor::logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits) {
  this->logits({.tokens = tokens, .starts = {&window.begin, 1}, .T = window.length}, logits);
}

}  // namespace chargpt
