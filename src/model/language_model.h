// What every model is to the rest of the program: ids in, logits out, and dropout whose masks are a pure function of
// their key: a resumed step drops what the first one dropped, and evaluation disturbs no stream. Independent of
// training, texts and files.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "config/config.h"
#include "network/model_types.h"

namespace chargpt {

/// Attention weights of one forward pass, in layer order; each (B, nh, T, T), rows sum to 1.
using AttentionMaps = std::vector<torch::Tensor>;

/// Where dropout's masks come from: a pure function of (seed, step, micro_batch, rank) and of the order of dropout
/// layers in forward.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t micro_batch = 0;
  std::int64_t first_window = 0;  ///< windows of the micro-batch before those of this pass
};

/// Float32 mask on the CPU, 0 with probability `rate` and else 1 / (1 - rate): element i takes word i mod 4 of Philox
/// block i / 4 under (seed, layer), so that the number of threads makes no difference. `first`: the element that the
/// mask begins with, of a larger one.
torch::Tensor dropout_mask(torch::IntArrayRef shape, double rate, std::uint64_t seed, std::uint32_t layer,
                           std::int64_t first = 0);

/// On other devices than the CPU masks come from the device's own generator, in the order of the calls: sets it to
/// where the masks of `key` begin. Before each forward pass with dropout, or each repeat of one that was recorded.
void seed_dropout(const torch::Device& device, const DropoutKey& key);

/// One forward pass on its way through the layers: what the caller asks for, and how far it has come. Default:
/// evaluation, nothing recorded.
struct ForwardPass {
  const DropoutKey* dropout = nullptr;  ///< null: no dropout
  AttentionMaps* attention = nullptr;   ///< null: not recorded
  std::int64_t document = -1;  ///< the id that begins a document, which sees nothing before it; -1: no documents
  torch::Tensor document_begins = {};  ///< (B, T), of each token's document; undefined without documents; see begin()
  /// (B, T, T), added to attention's scores: 0 where a token may look, else -inf. Undefined: at itself and all before.
  torch::Tensor mask = {};
  std::uint32_t masks = 0;  ///< of dropout, drawn so far

  /// The mask for x (..., T, C), (T, T) where all sequences have the same.
  torch::Tensor mask_of(const torch::Tensor& x) const;
  bool drops(double rate) const { return dropout != nullptr && rate > 0; }
  /// The n-th call draws the n-th mask of the key, on the CPU by dropout_mask. Source: Srivastava et al. (2014), in the
  /// inverted form that leaves evaluation alone.
  torch::Tensor drop(const torch::Tensor& x, double rate);
};

class LanguageModel : public torch::nn::Module {
 public:
  LanguageModel(const ModelConfig& config, std::int64_t vocab_size) : config_(config), vocab_size_(vocab_size) {}
  /// ids (B, T) int64, 1 <= T <= block_size -> logits (B, T, V). c10::Error if T is out of range.
  virtual torch::Tensor forward(const torch::Tensor& ids, ForwardPass pass = {}) = 0;
  const ModelConfig& config() const { return config_; }
  std::int64_t vocab_size() const { return vocab_size_; }
  std::int64_t block_size() const { return config_.block_size; }
  /// Distinct parameters; a tied matrix counts once.
  std::int64_t parameter_count() const;

 protected:
  /// Checks the input and finds where its documents begin; every model calls it first.
  void begin(const torch::Tensor& ids, ForwardPass& pass) const;

 private:
  ModelConfig config_;
  std::int64_t vocab_size_;
};

}  // namespace chargpt
