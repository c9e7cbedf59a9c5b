// All parameters of a model in flat buffers, one per group: clipping is one norm, AdamW one call per group, a
// checkpoint one walk. Made from the list of parameters alone. Knows no model by name, no engine and no tensor library.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "kernels/buffers.h"
#include "network/parameter_list.h"
#include "network/plan.h"
#include "run/safetensors.h"

namespace chargpt {

/// One parameter's place in its group.
struct ParameterSlot {
  std::string name;  ///< state_dict name, "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< in elements
  std::int64_t numel = 0;
  std::int64_t stacked = 1;  ///< equal matrices one above the other that are one each to a rule for matrices

  std::int64_t rows() const { return shape[0] / stacked; }  ///< of each matrix
  /// Its part of one of the group's buffers.
  std::span<float> in(const cpu::AlignedFloats& buffer) const {
    return buffer.all().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(numel));
  }
};

/// Parameters that share learning rate, decay and update rule. Between slots there may be padding, which is zero in
/// every buffer and stays so.
struct ParameterGroup {
  std::string name;          ///< "decay", "no_decay", or the pattern of train.groups
  double learning_rate = 0;  ///< at the peak of the schedule
  double weight_decay = 0;
  UpdateRule rule = UpdateRule::adamw;
  double momentum = 0.95;  ///< of muon
  std::vector<ParameterSlot> slots{};
  cpu::AlignedFloats values{}, gradients{};
  cpu::AlignedFloats moment1{}, moment2{};  ///< where the rule keeps them; empty until the first update
  cpu::AlignedFloats averages{};            ///< of the values, where train.ema keeps them

  std::int64_t size() const { return values.size(); }
};

/// Makes the moments that the group's rule keeps, zero, where there are none yet.
void start_moments(ParameterGroup& group);

class ParameterArena {
 public:
  /// Zeros for the parameters of such a list, in groups: train.groups first, the rest by `decay`. Every parameter is in
  /// exactly one group; groups without one are left out. Error usage for a pattern that is not a regular expression, or
  /// that matches no parameter left by those before it. A group takes what its pattern matches and its rule can update:
  /// muon matrices, so that "\\.h\\." may match gains too.
  ParameterArena(const std::vector<ParameterInfo>& parameters, Decay decay, const TrainConfig& train);
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;

  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  std::int64_t numel() const;
  /// Updates applied so far; AdamW's bias correction counts these.
  std::int64_t updates() const { return updates_; }
  void count_update() { ++updates_; }

  void zero_gradients();
  /// L2 norm over all gradients, summed in an order that threads do not change.
  double gradient_norm() const;
  /// No weight is infinite or NaN.
  bool is_finite() const;
  /// The place of each parameter, in the order of parameter_list(). Error internal unless these are the arena's.
  std::vector<cpu::Parameter> places_of(const ModelConfig& config, std::int64_t vocab_size) const;
  /// The buffer, such as &ParameterGroup::values, of each group.
  std::vector<float*> buffers(cpu::AlignedFloats ParameterGroup::*buffer) const;
  /// The values of the named parameter; none where there is no such.
  std::span<float> values_of(const std::string& name) const;

  /// Live buffers under their state_dict names, for a checkpoint.
  std::vector<TensorView> model_tensors() const;
  /// "moment1.NAME" and "moment2.NAME" of every parameter whose rule keeps them (zeros before the first update).
  std::vector<TensorView> optimizer_tensors();
  /// None where nothing is averaged.
  std::vector<TensorView> averaged_tensors() const;
  /// Error data, naming `source` and the tensor, unless names, shapes and dtypes are exactly those expected; diverged
  /// where a weight is NaN or infinite. `source` as in messages.
  void load_model(const Tensors& file, const std::string& source);
  void load_optimizer(const Tensors& file, std::int64_t updates, const std::string& source);
  void load_averages(const Tensors& file, const std::string& source);

 private:
  std::vector<ParameterGroup> groups_;
  std::map<std::string, cpu::Parameter> places_;
  std::int64_t updates_ = 0;
};

}  // namespace chargpt
