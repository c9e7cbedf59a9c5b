// A trained network as a predictor. Windows are scored by its forward pass on a team of threads, sequences go on by its
// decoder. Knows no text and no count.
#pragma once

#include <memory>

#include "network/model.h"
#include "predict/predictor.h"

namespace chargpt {
namespace cpu {
class Decoder;
class ForwardTeam;
}  // namespace cpu

/// What a sequence of block_size tokens loses when it grows.
/// full: its first token, as in nanoGPT; what is left is run again from position 0 for each character.
/// half: its first half, which is run again, and the next tokens are appended: every character is written with
/// block_size / 2 to block_size tokens of context, many times faster.
/// slide: its first token's keys and values alone; nothing is run again. Every token sees the block_size last ones, as
/// those saw theirs: for models that can_slide().
/// automatic: slide where the model can, else half, or full where block_size is less than 32.
enum class Context { automatic, full, half, slide };

/// What `context` means for a model: never automatic. Error usage for Context::slide with one that cannot.
Context context_of(const ModelConfig& config, Context context);

/// Of block_size tokens, the last that stay when one more comes; all of them: nothing is run again. Not for automatic.
std::int64_t kept_tokens(Context context, std::int64_t block_size);

class NetworkPredictor : public Predictor {
 public:
  /// `model` must outlive it and stay where it is. Error usage for a context that it cannot have.
  NetworkPredictor(const InferenceModel& model, int threads, Context context = Context::automatic);
  ~NetworkPredictor() override;

  std::int64_t vocab_size() const override { return model_.vocab_size(); }
  std::int64_t block_size() const override { return model_.block_size(); }
  /// The last block_size ids are run.
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override;
  void logits(const WindowBatch& windows, std::span<float> logits) override;
  /// Without the logits ever lying in memory all at once.
  void score(const WindowBatch& windows, std::span<float> losses) override;

  int threads() const override { return threads_; }
  void each_row(std::int64_t rows, const std::function<void(std::int64_t row, int thread)>& body) override;
  /// After each change of the model's weights. Sequences begun before it must be started anew.
  void take_weights();

 private:
  cpu::ForwardTeam& team();
  cpu::Decoder& decoder();

  const InferenceModel& model_;
  int threads_;
  std::int64_t kept_;
  std::unique_ptr<cpu::ForwardTeam> team_;  ///< made when it is first asked for, as the decoder is
  std::unique_ptr<cpu::Decoder> decoder_;
};

}  // namespace chargpt
