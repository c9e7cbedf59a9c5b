// The interface of all models: ids in, logits out. Dropout masks are a pure function of their key: a resumed
// step uses the same masks, and evaluation does not change random streams. Independent of training, texts and
// files.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "config/config.h"
#include "network/model_types.h"

namespace chargpt {

/// Attention weights of one forward pass, in layer order; each (B, nh, T, T), whose rows sum to 1.
using AttentionMaps = std::vector<torch::Tensor>;

/// Key of the dropout masks: they are a pure function of it and of the order of dropout layers in
/// forward.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t micro_batch = 0;
  std::int64_t first_window = 0;  ///< number of windows of the micro-batch before those of this pass
};

/// Float32 mask on the CPU: 0 with probability `rate`, else 1 / (1 - rate). Element i uses word i mod 4 of Philox block
/// i / 4 for (seed, layer), so the mask is independent of the number of threads. `first`: the mask is a part of a
/// larger one that starts at this element.
torch::Tensor dropout_mask(torch::IntArrayRef shape, double rate, std::uint64_t seed, std::uint32_t layer,
                           std::int64_t first = 0);

/// Sets the state of the device's generator for the masks of `key`; does nothing on the CPU. Call it before each
/// forward pass with dropout and before each replay of a recorded one.
void seed_dropout(const torch::Device& device, const DropoutKey& key);

/// Options and state of one forward pass. Default: evaluation, without
/// recording.
struct ForwardPass {
  const DropoutKey* dropout = nullptr;  ///< null: dropout is off
  AttentionMaps* attention = nullptr;   ///< records the attention weights; may be null
  std::int64_t document = -1;  ///< the id that starts a document, which attends only to itself; -1: no documents
  torch::Tensor document_begins = {};  ///< (B, T) start of each token's document; set by begin(); may be undefined
  /// (B, T, T), added to the scores of attention: 0 for visible tokens, else -inf. Undefined: use the causal mask.
  torch::Tensor mask = {};
  std::uint32_t masks = 0;  ///< number of dropout masks drawn

  /// The mask for x (..., T, C); (T, T) if it is the same for all sequences.
  torch::Tensor mask_of(const torch::Tensor& x) const;
  bool drops(double rate) const { return dropout != nullptr && rate > 0; }
  /// Applies the next dropout mask of the key, on the CPU from dropout_mask(). Source: Srivastava et al. (2014),
  /// inverted dropout, which does not change evaluation.
  torch::Tensor drop(const torch::Tensor& x, double rate);
};

class LanguageModel : public torch::nn::Module {
 public:
  LanguageModel(const ModelConfig& config, std::int64_t vocab_size) : config_(config), vocab_size_(vocab_size) {}
  /// Maps ids (B, T) int64, 1 <= T <= block_size, to logits (B, T, V). Throws c10::Error if T is out of range.
  virtual torch::Tensor forward(const torch::Tensor& ids, ForwardPass pass = {}) = 0;
  const ModelConfig& config() const { return config_; }
  std::int64_t vocab_size() const { return vocab_size_; }
  std::int64_t block_size() const { return config_.block_size; }
  /// Number of distinct parameters; a tied matrix counts once.
  std::int64_t parameter_count() const;

 protected:
  /// Checks the input and finds the starts of its documents. Every forward() calls it first.
  void begin(const torch::Tensor& ids, ForwardPass& pass) const;

 private:
  ModelConfig config_;
  std::int64_t vocab_size_;
};

}  // namespace chargpt
