// All parameters of a model in flat buffers, one per group: clipping is one norm, AdamW one call per group, a checkpoint one walk.
// Modules keep views. Knows no model by name.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "config/config.h"
#include "model/language_model.h"

namespace chargpt {

/// One parameter's place in its group.
struct ParameterSlot {
  std::string name;  ///< state_dict name, "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< in elements
  std::int64_t numel = 0;
};

/// Parameters that share learning rate, decay and update rule. All tensors are float32 on the model's device.
struct ParameterGroup {
  std::string name;  ///< "decay", "no_decay", or the pattern of train.groups
  double learning_rate = 0, weight_decay = 0;
  std::string optimizer;
  bool row_sparse = false;  ///< rows untouched in a step are never read or written; gradients come as (rows, values)
  std::vector<ParameterSlot> slots;
  torch::Tensor values, gradients;        ///< (numel)
  torch::Tensor moment1, moment2;         ///< (numel); undefined until the first update
  torch::Tensor touched_rows;             ///< int64; only where row_sparse
};

class ParameterArena {
 public:
  /// Moves the model's parameters into groups (train.groups first, the rest by model.decay) and makes them views of the buffers.
  /// The model must already be on its device. Every parameter is in exactly one group.
  ParameterArena(LanguageModel& model, const TrainConfig& train);
  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  std::int64_t numel() const;
  void zero_gradients();
  /// L2 norm over all gradients, a 0-d tensor on the device.
  torch::Tensor gradient_norm() const;
  /// CPU copies as named tensors, for a checkpoint; `storage` owns the bytes.
  std::vector<TensorView> model_tensors(std::vector<torch::Tensor>& storage) const;
  std::vector<TensorView> optimizer_tensors(std::vector<torch::Tensor>& storage) const;
  /// Error data, naming `source` and the tensor, unless names, shapes and dtypes are exactly those expected. `source` as in messages.
  void load_model(const SafetensorsFile& file, const std::string& source);
  void load_optimizer(const SafetensorsFile& file, const std::string& source);

 private:
  std::vector<ParameterGroup> groups_;
};

}  // namespace chargpt
