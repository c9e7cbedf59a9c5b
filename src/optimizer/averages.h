// Exponentially averaged weights, kept beside an arena's: often better than the last ones, and never worse to have,
// since both are evaluated. Knows no training loop.
//
// After update t the average is  a = d a + (1 - d) w  with  d = min(decay, (1 + t) / (10 + t)):  the first weights,
// which know nothing, are forgotten soon however large the decay. (The ramp is that of TensorFlow's
// ExponentialMovingAverage with num_updates.)
#pragma once

#include <torch/types.h>

#include <vector>

#include "checkpoint/checkpoint.h"
#include "inference/model.h"
#include "parameters/arena.h"

namespace chargpt {

class AveragedWeights {
 public:
  /// `decay` 0: there are none, and every call does nothing. Begins with the arena's weights.
  AveragedWeights(const ParameterArena& arena, double decay);
  AveragedWeights(AveragedWeights&&) = default;
  AveragedWeights& operator=(AveragedWeights&&) = default;

  bool any() const { return decay_ > 0; }
  /// To be called after each update, which the arena has counted.
  void follow(const ParameterArena& arena);
  AveragedWeights copy() const;

  /// For a checkpoint, under the parameters' names; none where there are none.
  std::vector<TensorView> tensors(const ParameterArena& arena, std::vector<torch::Tensor>& storage) const;
  /// Those of `checkpoint`; where it has none, its trained weights, which the arena has, and false. Error data as
  /// ParameterArena::load_model.
  bool load(const ParameterArena& arena, const Checkpoint& checkpoint);

  /// While it lives the arena holds the averages, and then its own weights again, bit for bit.
  class InUse {
   public:
    InUse(const AveragedWeights& averages, ParameterArena& arena);
    ~InUse();
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    ParameterArena& arena_;
    std::vector<torch::Tensor> own_;
  };

 private:
  AveragedWeights() = default;
  double decay_ = 0;
  std::vector<torch::Tensor> buffers_;  ///< one per group of the arena
};

/// Loads a checkpoint's weights into the arena and returns which: of `better`, the averaged ones where their validation
/// loss at that checkpoint is lower. Error usage where averaged ones are asked for and there are none, data as
/// ParameterArena::load_model.
Weights load_weights(ParameterArena& arena, const Checkpoint& checkpoint, Weights which);

}  // namespace chargpt
