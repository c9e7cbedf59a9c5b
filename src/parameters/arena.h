// All parameters of a model in flat buffers, one per group: clipping is one norm, AdamW one call per group, a
// checkpoint one walk. Modules keep views of the buffers, and autograd adds into views of the gradients. Knows no model
// by name.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
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
  std::int64_t stacked = 1;  ///< equal matrices one above the other that are one each to a rule for matrices
};

/// The slot's part of a flat buffer, in its own shape: a view.
torch::Tensor slot_of(const torch::Tensor& buffer, const ParameterSlot& slot);

/// Parameters that share learning rate, decay and update rule. All tensors are float32 on the model's device. Between
/// slots there may be padding, which is zero in every buffer and stays so.
struct ParameterGroup {
  std::string name;          ///< "decay", "no_decay", or the pattern of train.groups
  double learning_rate = 0;  ///< at the peak of the schedule
  double weight_decay = 0;
  UpdateRule rule = UpdateRule::adamw;
  double momentum = 0.95;  ///< of muon
  std::vector<ParameterSlot> slots{};
  torch::Tensor values{}, gradients{};  ///< (size,)
  torch::Tensor moment1{}, moment2{};   ///< (size,) where the rule keeps them; undefined until the first update
};

/// Makes the moments that the group's rule keeps, zero, where there are none yet.
void start_moments(ParameterGroup& group);

/// Values, moments and update count at one moment: what measuring steps needs to leave no trace.
struct ArenaSnapshot {
  std::vector<torch::Tensor> values, moment1, moment2;  ///< one per group
  std::int64_t updates = 0;
};

class ParameterArena {
 public:
  /// Moves the model's parameters into groups (train.groups first, the rest by model.decay) and makes them views of the
  /// buffers. The model must already be on its device. Every parameter is in exactly one group; groups without one are
  /// left out. Error usage for a pattern that is not a regular expression, or that matches no parameter left by those
  /// before it.
  /// A group takes what its pattern matches and its rule can update: muon matrices, so that "\\.h\\." may match gains
  /// too.
  ParameterArena(LanguageModel& model, const TrainConfig& train);
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;

  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  std::int64_t numel() const;
  /// Updates applied so far; AdamW's bias correction counts these.
  std::int64_t updates() const { return updates_; }
  void count_update() { ++updates_; }

  void zero_gradients();
  /// L2 norm over all gradients, a 0-d tensor on the device.
  torch::Tensor gradient_norm() const;
  /// No weight is infinite or NaN.
  bool is_finite() const;
  /// The named parameter, a view of its group's buffer; Error internal where there is none.
  torch::Tensor parameter(const std::string& name) const;

  ArenaSnapshot snapshot() const;
  void restore(const ArenaSnapshot& snapshot);

  /// Tensors on the CPU under their state_dict names, for a checkpoint; `storage` owns the bytes, which on the CPU are
  /// the live ones.
  std::vector<TensorView> model_tensors(std::vector<torch::Tensor>& storage) const;
  /// "moment1/NAME" and "moment2/NAME" of every parameter whose rule keeps them (zeros before the first update), and
  /// "step", the number of updates.
  std::vector<TensorView> optimizer_tensors(std::vector<torch::Tensor>& storage) const;
  /// The same of other buffers laid out as the groups' values are, one per group.
  std::vector<TensorView> tensors_of(std::span<const torch::Tensor> buffers, std::vector<torch::Tensor>& storage) const;
  void load_into(std::span<torch::Tensor> buffers, const SafetensorsFile& file, const std::string& source) const;
  /// Error data, naming `source` and the tensor, unless names, shapes and dtypes are exactly those expected; diverged
  /// where a weight is NaN or infinite. `source` as in messages.
  void load_model(const SafetensorsFile& file, const std::string& source);
  void load_optimizer(const SafetensorsFile& file, const std::string& source);

 private:
  torch::Device device_;
  std::vector<ParameterGroup> groups_;
  std::int64_t updates_ = 0;
};

}  // namespace chargpt
