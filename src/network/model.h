// A trained model as it is read: options and weights. For every model type, without LibTorch; nothing is trained here.
// Predictors and attention_weights() compute with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/config.h"
#include "network/plan.h"
#include "run/checkpoint.h"

namespace chargpt {

/// Which weights of a checkpoint: `better` are the averaged ones where their validation loss was lower.
CHARGPT_ENUM(Weights, better, trained, averaged);

/// trained or averaged. Error usage where averaged ones are asked for and there are none.
Weights chosen_weights(const Checkpoint& checkpoint, Weights which);

/// Error internal for an id that a model of `vocab_size` symbols does not have; `whose` begins its message.
void check_ids(std::span<const std::int64_t> ids, std::int64_t vocab_size, const std::string& whose);

class InferenceModel {
 public:
  /// A copy of a checkpoint's weights. Errors: data if they are not those of its config, and diverged if one is NaN or
  /// infinite, naming file and tensor; usage if averaged ones are asked for and there are none.
  InferenceModel(const Checkpoint& checkpoint, Weights which);
  /// Weights that lie in memory as the plan says. They must outlive this object; predictors of it are told when they
  /// change.
  InferenceModel(const ModelConfig& config, cpu::Plan plan, const float* values);

  const ModelConfig& config() const { return config_; }
  std::int64_t vocab_size() const { return plan_.vocab_size; }
  std::int64_t block_size() const { return config_.block_size; }
  /// Those in use; `better` is none.
  Weights weights() const { return weights_; }
  const cpu::Plan& plan() const { return plan_; }
  /// Of all parameters, where the plan says.
  const float* values() const { return values_; }

 private:
  ModelConfig config_;
  Weights weights_ = Weights::trained;
  cpu::Plan plan_;
  cpu::AlignedFloats own_;  ///< the weights of a checkpoint
  const float* values_;
};

/// CRC-64 of every parameter's values, one after another.
std::uint64_t weights_digest(const InferenceModel& model);

}  // namespace chargpt
