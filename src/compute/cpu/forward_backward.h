// One thread's share of a training step: its sequences forward and backward through the whole model. Knows no arena and
// no other thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/forward.h"
#include "inference/plan.h"
#include "kernels/kernels.h"

namespace chargpt::cpu {

class Worker : private Forward {
 public:
  Worker(const Plan& plan, const Kernels& kernels) : Forward(plan, kernels, /*keep=*/true) {}

  using Forward::prepare;
  /// Before the first share of a step. `gradients`: by group; only what a share touches is written.
  void begin(const Weights& weights, std::span<float* const> gradients);
  /// Adds the gradients of the share; returns the sum of its tokens' losses.
  double train(const Share& share);
  /// Instead of begin(), where a step has no share for this worker.
  void rest() { worked_ = false; }
  /// Has trained since begin().
  bool worked() const { return worked_; }

 private:
  void lay_out(BumpAllocator& layout) override;

  void backward(const Share& chunk);
  void embed_backward(const Share& chunk);
  void look_up_backward(const Share& chunk);
  void leave_rows(const Share& chunk, std::size_t table, const float* dy, long lddy);
  void attend_backward(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk);
  void feed_backward(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk);
  void heads_backward(const BlockRecord& record, long layer, const Share& chunk);

  void normalise_backward(const NormPlan& norm, const float* x, const float* statistics, const float* dy, float* dx);
  void product_at(long out, long in, const float* dy, long lddy, const float* x, long ldx, float* dw) const;
  void apply_backward(const LinearPlan& layer, const float* x, long ldx, const float* dy, long lddy, float* dx,
                      long lddx, bool add);
  const float* branch_gradient(double rate, std::uint32_t mask, const Share& chunk);

  float* gradient(const Parameter& p) const {
    return p.there() ? gradients_[static_cast<std::size_t>(p.group)] + p.offset : nullptr;
  }

  std::vector<float*> gradients_;
  bool worked_ = false;
  Bf16 *paired_x_ = nullptr, *paired_dy_ = nullptr;
  float* djoined_ = nullptr;  ///< (rows, tables * width)
  float *dx_ = nullptr, *dh_ = nullptr, *dqkv_ = nullptr, *do_ = nullptr, *dg_ = nullptr, *dgate_ = nullptr;
};

}  // namespace chargpt::cpu
