// One thread's part of a training step: runs its sequences through the whole model, forward and backward. Independent
// of the arena and of other threads.
#pragma once

#include "network/forward.h"
#include "network/plan.h"

namespace chargpt::cpu {

class ForwardBackward : private Forward {
 public:
  ForwardBackward(const Plan& plan, const ModelWeights& weights) : Forward(plan, weights, /*for_backward=*/true) {}

  using Forward::prepare;
  /// Call it at the start of a step. `gradients` has the plan's layout; run() writes only what it needs. Null if this
  /// thread runs nothing in the step.
  void begin(float* gradients);
  /// Adds the gradients of the slice; returns the sum of its losses in nats. Outputs, unless null: `losses` (count, T),
  /// 0 if a target does not count; `logits` (count, T, V).
  double run(const BatchSlice& slice, float* losses = nullptr, float* logits = nullptr);
  /// True if run() was called since begin().
  bool has_gradients() const { return has_gradients_; }

 private:
  void allocate_buffers(BumpAllocator& memory) override;

  void backward();
  void embed_backward();
  void attention_block_backward(const BlockPass& block);
  void mlp_block_backward(const BlockPass& block);
  void attention_heads_backward(const BlockPass& block);

  const float* convolution_backward(const Parameter& weight, const float* x);
  void qkv_backward(const BlockPass& block);
  void norm_backward(const NormParameters& norm, const float* x, const float* stats);
  void add_norm_backward(const NormParameters& norm, const float* x, const float* stats, const float* dy);
  void add_sublayer_backward(const NormParameters& norm, const float* x, const float* stats, const float* dy);
  void weight_backward(long out, long in, const float* dy, long lddy, const float* x, long ldx, float* dw) const;
  void linear_backward(const LinearParameters& layer, const float* x, long ldx, const float* dy, long lddy, float* dx,
                       long lddx, bool add);
  const float* branch_gradient(Place place, long layer) const;

  float* gradient(const Parameter& p) const { return p.at(gradients_); }

  float* gradients_ = nullptr;
  bool has_gradients_ = false;
  Bf16 *x_vnni_ = nullptr, *dy_vnni_ = nullptr;
  float *dx_ = nullptr, *dnormed_ = nullptr, *dqkv_ = nullptr, *do_ = nullptr, *dhidden_ = nullptr, *dgate_ = nullptr;
};

}  // namespace chargpt::cpu
