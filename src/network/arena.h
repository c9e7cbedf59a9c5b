// What training keeps of all parameters, in five flat buffers of one layout. A group of parameters is a range of each:
// clipping is one norm, AdamW one call per group, a checkpoint one walk. Independent of model types, engines
// and tensor libraries.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "kernels/buffers.h"
#include "network/layers.h"
#include "network/parameter_groups.h"
#include "network/plan.h"
#include "run/safetensors.h"

namespace chargpt {

class ParameterArena {
 public:
  /// Zeros for the parameters of such a list, placed by lay_out(), whose errors it has.
  ParameterArena(std::vector<Parameter> parameters, Decay decay, const TrainConfig& train);
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;

  /// As they lie: group after group.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  std::span<const Parameter> parameters_of(const ParameterGroup& group) const;
  std::int64_t numel() const;
  /// Updates applied so far; AdamW's bias correction counts these.
  std::int64_t updates() const { return updates_; }
  void count_update() { ++updates_; }

  /// Makes the moments that the groups' rules keep, zero, where there are none yet.
  void start_moments();
  void zero_gradients();
  /// L2 norm over all gradients, summed in an order that threads do not change.
  double gradient_norm() const;
  /// No weight is infinite or NaN.
  bool is_finite() const;

  /// Live buffers under their state_dict names, for a checkpoint.
  std::vector<TensorView> model_tensors() const;
  /// "moment1.NAME" and "moment2.NAME" of every parameter whose rule keeps them (zeros before the first update).
  std::vector<TensorView> optimizer_tensors();
  /// None where nothing is averaged.
  std::vector<TensorView> averaged_tensors() const;
  /// Errors as read_weights().
  void load_model(const Tensors& file, const std::string& source);
  void load_optimizer(const Tensors& file, std::int64_t updates, const std::string& source);
  void load_averages(const Tensors& file, const std::string& source);

  cpu::AlignedFloats values, gradients;
  cpu::AlignedFloats moment1, moment2;  ///< empty until the first update; the second if a group's rule keeps it
  cpu::AlignedFloats averages;          ///< of the values; empty unless train.ema keeps them

 private:
  std::vector<Parameter> parameters_;
  std::vector<ParameterGroup> groups_;
  std::int64_t updates_ = 0;
};

/// Copies the tensors that have the names of these parameters to where they lie in a flat buffer. Error data, naming
/// `source` and the tensor, unless names, shapes and dtypes are exactly those expected; diverged if a weight is NaN or
/// infinite. `source` as in messages.
void read_weights(std::span<const Parameter> parameters, const Tensors& file, const std::string& source, float* to);

/// The plan of such a model whose values lie as the arena's. Error internal if the arena is not made for such options.
cpu::Plan plan_in(const ParameterArena& arena, const ModelConfig& model, std::int64_t vocab_size,
                  const TrainConfig& train, cpu::Packing packing);

}  // namespace chargpt
