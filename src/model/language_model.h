// What every model is to the rest of the program: ids in, logits out. Knows no training, no text and no file.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <vector>

#include "config/config.h"
#include "inference/model_types.h"

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

/// What a caller may ask of one forward pass. Default: evaluation, nothing recorded.
struct ForwardContext {
  const DropoutKey* dropout = nullptr;  ///< null: no dropout
  AttentionMaps* attention = nullptr;   ///< null: not recorded
  /// 0: every token sees all before it. Else only the last `window` ones, itself included, and there may be any number
  /// of ids: for models that can_slide(), window <= block_size.
  std::int64_t window = 0;
  std::int64_t document = -1;  ///< the id that begins a document, which sees nothing before it; -1: there are none
};

class LanguageModel : public torch::nn::Module {
 public:
  LanguageModel(const ModelConfig& config, std::int64_t vocab_size) : config_(config), vocab_size_(vocab_size) {}
  /// ids (B, T) int64, 1 <= T <= block_size -> logits (B, T, V). c10::Error if T is out of range.
  virtual torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& context = {}) = 0;
  const ModelConfig& config() const { return config_; }
  std::int64_t vocab_size() const { return vocab_size_; }
  std::int64_t block_size() const { return config_.block_size; }
  /// Distinct parameters; a tied matrix counts once.
  std::int64_t parameter_count() const;

 protected:
  /// What forward() promises about its input; every model asks first.
  void check_input(const torch::Tensor& ids, const ForwardContext& context) const;

 private:
  ModelConfig config_;
  std::int64_t vocab_size_;
};

}  // namespace chargpt
