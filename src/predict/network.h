// A trained network as a predictor. Its forward pass scores windows on several threads; its decoder continues
// sequences. Independent of texts and counts.
#pragma once

#include <optional>

#include "network/decoder.h"
#include "network/forward.h"
#include "network/model.h"
#include "predict/predictor.h"

namespace chargpt {

/// How a sequence of block_size tokens continues, when it gets another token.
/// full: drops the first token, as in nanoGPT, and runs the rest again from position 0, for each character.
/// half: drops the first half, runs the rest again, and appends the next tokens: every character has a context of
/// block_size / 2 to block_size tokens; many times faster than full.
/// slide: drops only the keys and values of the first token, and runs nothing again. Every token sees the last
/// block_size tokens, which saw theirs: for models that can_slide().
/// automatic: slide if the model supports it, else half, or full if block_size is less than 32.
enum class Context { automatic, full, half, slide };

/// Resolves Context::automatic for a model. Throws Error usage for Context::slide if the model cannot slide.
Context context_of(const ModelConfig& config, Context context);

/// Number of the last tokens that stay when a sequence is full; block_size for Context::slide. Not for automatic.
std::int64_t kept_tokens(Context context, std::int64_t block_size);

class NetworkPredictor : public Predictor {
 public:
  /// `model` must outlive it and must not move. Throws Error usage if the model does not support the context.
  NetworkPredictor(const InferenceModel& model, int threads, Context context = Context::automatic);

  std::int64_t vocab_size() const override { return model_.vocab_size(); }
  std::int64_t block_size() const override { return model_.block_size(); }
  /// Runs only the last block_size ids.
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override;
  void logits(const WindowBatch& windows, std::span<float> logits) override;
  /// Computes the losses without storing all logits at the same time.
  void score(const WindowBatch& windows, std::span<float> losses) override;

  int threads() const override { return team_.threads(); }
  /// Call it after each change of the model's weights. Then restart the sequences.
  void take_weights() { team_.take_weights(); }

 private:
  const InferenceModel& model_;
  std::int64_t kept_;
  cpu::ForwardTeam team_;
  std::optional<cpu::Decoder> decoder_;  ///< of the sequences; made when the first ones start
};

}  // namespace chargpt
