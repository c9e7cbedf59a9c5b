// Values, gradients, moments and averages of all parameters, in five flat buffers of one layout. A parameter group is
// one range of each: clipping computes one norm, AdamW is one call per group, a checkpoint one walk. Independent of
// model types, engines and tensor libraries.
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
  /// Allocates zeros for these parameters at the offsets of lay_out(). Throws the errors of lay_out().
  ParameterArena(std::vector<Parameter> parameters, Decay decay, const TrainConfig& train);
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;

  /// The parameters in memory order, group after group.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  std::span<const Parameter> parameters_of(const ParameterGroup& group) const;
  std::int64_t numel() const;
  /// Number of updates applied so far, for AdamW's bias correction.
  std::int64_t updates() const { return updates_; }
  void count_update() { ++updates_; }

  /// Allocates, as zeros, the moments that the groups' rules need, unless they exist.
  void start_moments();
  /// L2 norm over all gradients, summed in an order that is independent of the number of threads.
  double gradient_norm() const;
  /// True if every weight is finite.
  bool is_finite() const;

  /// Views of the values or averages under their state_dict names, for a checkpoint; empty if the buffer is.
  std::vector<TensorView> weights_in(const cpu::AlignedFloats& buffer) const;
  /// "moment1.NAME" and "moment2.NAME" of every parameter whose rule uses them (zeros before the first update).
  std::vector<TensorView> optimizer_tensors();
  /// Loads the moments. Throws Error data like read_weights(), which loads the values and averages.
  void load_optimizer(const Tensors& file, std::int64_t updates, const std::string& source);

  cpu::AlignedFloats values, gradients;
  cpu::AlignedFloats moment1, moment2;  ///< empty until the first update; moment2 only if the rule of a group uses it
  cpu::AlignedFloats averages;          ///< of the values, at first a copy; empty unless train.ema is on

 private:
  std::vector<Parameter> parameters_;
  std::vector<ParameterGroup> groups_;
  std::int64_t updates_ = 0;
};

/// Copies the tensors with the names of these parameters to their offsets in a flat buffer. Throws Error data, naming
/// `source` and the tensor, if names, shapes or dtypes are not exactly the expected ones; diverged if a weight is NaN
/// or infinite.
void read_weights(std::span<const Parameter> parameters, const Tensors& file, const std::string& source, float* to);

/// The plan of a model with the arena's layout. Throws Error internal if the arena was made for other options.
cpu::Plan plan_in(const ParameterArena& arena, const ModelConfig& model, std::int64_t vocab_size,
                  const TrainConfig& train, cpu::Packing packing);

}  // namespace chargpt
