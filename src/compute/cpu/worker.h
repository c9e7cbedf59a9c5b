// One thread's share of a step: its sequences through the whole model, forward and backward, a few at a time so that
// what a layer makes is still in the cache when the next one reads it. Allocates in prepare() alone. Knows no arena and
// no other thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/cpu/buffers.h"
#include "compute/cpu/kernels.h"
#include "compute/cpu/plan.h"

namespace chargpt::cpu {

/// Where the weights are in this step: values by group, and the packed matrices.
struct Weights {
  std::vector<const float*> values;
  const float* packed = nullptr;
};

/// Dropout's seed of one micro-batch.
struct DropoutSeed {
  std::uint32_t words[2] = {0, 0};
};

/// Sequences `first` to `first + count` of one micro-batch, T tokens each.
struct Share {
  const std::int64_t* inputs = nullptr;   ///< (count, T)
  const std::int64_t* targets = nullptr;  ///< (count, T)
  std::int64_t first = 0, count = 0, T = 0;
  float scale = 0;                    ///< of each token's gradient: 1 / tokens of the whole step
  const DropoutSeed* seed = nullptr;  ///< null: no dropout
  /// Of each table, for every token of the micro-batch: its row, and where the row's gradient is left (tokens, width),
  /// null where nobody asks for it.
  std::span<const std::int64_t* const> rows{};
  std::span<float* const> row_gradients{};
};

/// What one block keeps of its forward pass for backward. Rows are tokens; where the model has no norm, h1 is x and h2
/// is xm.
struct BlockRecord {
  float *x, *h1, *statistics1;   ///< (rows, C), (rows, C), (rows, 2)
  float *qkv, *inverse;          ///< (rows, 3 nh hs) after norm and rotation, (rows, 2 nh)
  float *softmax, *o;            ///< (sequences, nh, T, 2), (rows, nh hs)
  float *xm, *h2, *statistics2;  ///< (rows, C), (rows, C), (rows, 2)
  float *u, *gate, *g;           ///< (rows, hidden): slopes, slopes of the gate, values
};

class Worker {
 public:
  Worker(const Plan& plan, const Kernels& kernels) : plan_(plan), k_(kernels) {}

  /// Makes room for shares of up to `sequences` sequences of T tokens, with all that backward needs where `training`.
  void prepare(std::int64_t sequences, std::int64_t T, bool training);
  /// Before the first share of a step. `gradients`: by group; only what a share touches is written.
  void begin(const Weights& weights, std::span<float* const> gradients);
  /// Adds the gradients of the share; returns the sum of its tokens' losses.
  double train(const Share& share);
  /// Losses of each token: (count, T).
  void evaluate(const Weights& weights, const Share& share, float* losses);
  /// Instead of begin(), where a step has no share for this worker.
  void rest() { worked_ = false; }
  /// Has trained since begin().
  bool worked() const { return worked_; }

 private:
  void lay_out(Layout& layout);

  double run(const Share& share, float* losses);
  void forward(const Share& chunk);
  void backward(const Share& chunk);

  void embed(const Share& chunk);
  void embed_backward(const Share& chunk);
  void look_up(const Share& chunk, float* x);
  void look_up_backward(const Share& chunk);
  void leave_rows(const Share& chunk, std::size_t table, const float* dy, long lddy);
  void attend(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk);
  void attend_backward(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk);
  void feed(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk, float* next);
  void feed_backward(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk);
  void heads(const BlockRecord& record, long layer, const Share& chunk);
  void heads_backward(const BlockRecord& record, long layer, const Share& chunk);

  void normalise(const NormPlan& norm, const float* x, float* y, float* statistics) const;
  void normalise_backward(const NormPlan& norm, const float* x, const float* statistics, const float* dy, float* dx);
  bool halves() const { return plan_.half != nullptr && training_; }
  long widest() const;
  const Half* packed_halves(std::int64_t place) const {
    return reinterpret_cast<const Half*>(weights_->packed + place);
  }
  void product(long out, long in, const float* x, long ldx, std::int64_t packed, float* y, long ldy, bool add) const;
  void product_at(long out, long in, const float* dy, long lddy, const float* x, long ldx, float* dw) const;
  void apply(const LinearPlan& layer, const float* x, long ldx, float* y, long ldy, bool add) const;
  void apply_backward(const LinearPlan& layer, const float* x, long ldx, const float* dy, long lddy, float* dx,
                      long lddx, bool add);
  const float* branch_gradient(double rate, std::uint32_t mask, const Share& chunk);
  void drop(double rate, std::uint32_t mask, const Share& chunk, float* x);
  DropoutWords words(double rate, std::uint32_t mask, const Share& chunk) const;
  std::uint32_t mask_of(long layer, int place) const;

  const float* value(const Parameter& p) const {
    return p.there() ? weights_->values[static_cast<std::size_t>(p.group)] + p.offset : nullptr;
  }
  float* gradient(const Parameter& p) const {
    return p.there() ? gradients_[static_cast<std::size_t>(p.group)] + p.offset : nullptr;
  }

  const Plan& plan_;
  const Kernels& k_;
  const Weights* weights_ = nullptr;
  std::vector<float*> gradients_;
  bool worked_ = false;

  std::int64_t sequences_ = 0, T_ = 0;  ///< of a chunk at most, as prepared
  bool training_ = false;
  Floats memory_;
  long rows_ = 0;  ///< of the chunk under way
  std::vector<BlockRecord> records_;
  Half *rounded_ = nullptr, *paired_x_ = nullptr, *paired_dy_ = nullptr;
  float *joined_ = nullptr, *djoined_ = nullptr;  ///< (rows, tables * width)
  float *x_last_ = nullptr, *h_last_ = nullptr, *statistics_last_ = nullptr, *branch_ = nullptr;
  float *dx_ = nullptr, *dh_ = nullptr, *dqkv_ = nullptr, *do_ = nullptr, *dg_ = nullptr, *dgate_ = nullptr;
  float *logits_ = nullptr, *losses_ = nullptr, *scratch_ = nullptr;
};

}  // namespace chargpt::cpu
