// The interface of all models: ids in, logits out. Dropout masks are a pure function of their seed: a resumed step uses
// the same masks, and evaluation does not change random streams. Independent of training, texts and files.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "config/config.h"
#include "network/model_types.h"

namespace chargpt {

/// Attention weights of one forward pass, in layer order; each (B, nh, T, T), whose rows sum to 1.
using AttentionMaps = std::vector<torch::Tensor>;

/// Options and state of one forward pass. Default: evaluation, without
/// recording.
struct ForwardPass {
  std::optional<std::uint64_t> dropout_seed = {};  ///< of the micro-batch; nullopt: dropout is off
  std::int64_t first_window = 0;                   ///< number of windows of the micro-batch before those of this pass
  AttentionMaps* attention = nullptr;              ///< records the attention weights; may be null
  std::int64_t document = -1;  ///< the id that starts a document, which attends only to itself; -1: no documents
  torch::Tensor document_begins = {};  ///< (B, T) start of each token's document; set by begin(); may be undefined
  /// (B, T, T), added to the scores of attention: 0 for visible tokens, else -inf. Undefined: use the causal mask.
  torch::Tensor mask = {};
  std::uint32_t masks = 0;  ///< number of dropout masks drawn

  /// The mask for x (..., T, C); (T, T) if it is the same for all sequences.
  torch::Tensor mask_of(const torch::Tensor& x) const;
  bool drops(double rate) const { return dropout_seed && rate > 0; }
  /// Applies the next dropout mask. On the CPU it is that of the CPU engine, a pure function of the seed, the number of
  /// the mask and the index of the element, for any number of threads. Source: Srivastava et al. (2014), inverted
  /// dropout, which does not change evaluation.
  torch::Tensor drop(const torch::Tensor& x, double rate);
};

/// Sets the state of a GPU's generator for the dropout masks of `pass`; does nothing on the CPU. Call it before each
/// forward pass with dropout and before each replay of a recorded one.
void seed_dropout(const torch::Device& device, const ForwardPass& pass);

class LanguageModel : public torch::nn::Module {
 public:
  LanguageModel(const ModelConfig& config, std::int64_t vocab_size) : config_(config), vocab_size_(vocab_size) {}
  /// Maps ids (B, T) int64, 1 <= T <= block_size, to logits (B, T, V). Throws c10::Error if T is out of range.
  virtual torch::Tensor forward(const torch::Tensor& ids, ForwardPass pass = {}) = 0;
  const ModelConfig& config() const { return config_; }
  std::int64_t vocab_size() const { return vocab_size_; }
  std::int64_t block_size() const { return config_.block_size; }

 protected:
  /// Checks the input and finds the starts of its documents. Every forward() calls it first.
  void begin(const torch::Tensor& ids, ForwardPass& pass) const;

 private:
  ModelConfig config_;
  std::int64_t vocab_size_;
};

}  // namespace chargpt
