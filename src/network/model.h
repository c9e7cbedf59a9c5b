// A trained model for inference: options and weights. For every model type, without LibTorch and without training.
// Predictors and attention_weights() compute with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/config.h"
#include "network/plan.h"
#include "run/checkpoint.h"

namespace chargpt {

/// Weights of a checkpoint. `better`: the averaged weights if their validation loss is lower, else the trained ones.
CHARGPT_ENUM(Weights, better, trained, averaged);

/// Returns trained or averaged. Throws Error usage if `which` is averaged and the checkpoint has only trained weights.
Weights chosen_weights(const Checkpoint& checkpoint, Weights which);

/// Throws Error internal if an id is not in 0 to vocab_size - 1. `whose` is the start of the message.
void check_ids(std::span<const std::int64_t> ids, std::int64_t vocab_size, const std::string& whose);

class InferenceModel {
 public:
  /// Copies a checkpoint's weights. Throws Error data if they do not match its config; diverged, with file and tensor,
  /// if a weight is NaN or infinite; and the errors of chosen_weights().
  InferenceModel(const Checkpoint& checkpoint, Weights which);
  /// Uses weights in memory, laid out by `plan`; they must outlive this object. After a change of the weights, refresh
  /// the predictors that use them.
  InferenceModel(const ModelConfig& config, cpu::Plan plan, const float* values);

  const ModelConfig& config() const { return config_; }
  std::int64_t vocab_size() const { return plan_.vocab_size; }
  std::int64_t block_size() const { return config_.block_size; }
  /// The weights in use: trained or averaged.
  Weights weights() const { return weights_; }
  const cpu::Plan& plan() const { return plan_; }
  /// All parameters, at the offsets of the plan.
  const float* values() const { return values_; }

 private:
  ModelConfig config_;
  Weights weights_ = Weights::trained;
  cpu::Plan plan_;
  cpu::AlignedFloats own_;  ///< copy of a checkpoint's weights
  const float* values_;
};

/// CRC-64 over the values of all parameters, in order.
std::uint64_t weights_digest(const InferenceModel& model);

}  // namespace chargpt
