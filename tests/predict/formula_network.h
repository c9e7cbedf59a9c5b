// A network whose logits follow from the last symbol and its position by the formula of scripts/reference/counts.py.
#pragma once

#include "golden_weights.h"
#include "predict/predictor.h"

namespace chargpt {

class FormulaNetwork : public Predictor {
 public:
  FormulaNetwork(std::int64_t symbols, std::int64_t block_size) : symbols_(symbols), block_size_(block_size) {}
  std::int64_t vocab_size() const override { return symbols_; }
  std::int64_t block_size() const override { return block_size_; }
  std::int64_t at_once() const override { return 1; }
  Rows start(std::span<const std::int64_t>, std::int64_t) override { return {nullptr, 0}; }
  Rows advance(std::span<const std::int64_t>, std::span<const std::int64_t>) override { return {nullptr, 0}; }
  void logits(const WindowBatch& windows, std::span<float> logits) override {
    auto at = logits.begin();
    for (const std::int64_t start : windows.starts)
      for (std::int64_t t = 0; t < windows.T; ++t)
        for (std::int64_t v = 0; v < symbols_; ++v) *at++ = logit(windows.tokens[start + t], t, v);
  }
  void score(const WindowBatch&, std::span<float>) override { FAIL("only its logits are needed"); }

 private:
  static float logit(std::int64_t id, std::int64_t t, std::int64_t v) {
    return static_cast<float>(4 * (mix(static_cast<std::uint32_t>(8192 * t + 128 * id + v)) / 2147483648.0 - 1));
  }
  std::int64_t symbols_, block_size_;
};

}  // namespace chargpt
