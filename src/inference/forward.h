// Windows through the whole model, a few sequences at a time so that what a layer makes is still in the cache when the
// next one reads it: one thread's share of scoring, and the first half of one of training, which keeps what backward
// needs (compute/cpu/forward_backward.h). Follows a Plan. Allocates in prepare() alone. Knows no other thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heartbeat.h"
#include "inference/plan.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"

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
  const Heartbeat* heartbeat = nullptr;  ///< of train(), between a few sequences and the next; null: none
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

class Forward {
 public:
  Forward(const Plan& plan, const Kernels& kernels) : Forward(plan, kernels, /*keep=*/false) {}
  virtual ~Forward() = default;
  Forward(Forward&&) = default;
  Forward& operator=(Forward&&) = delete;

  /// Makes room for shares of up to `sequences` sequences of T tokens.
  void prepare(std::int64_t sequences, std::int64_t T);
  /// Losses of each token, nats: (count, T). In float32, without dropout.
  void losses(const Weights& weights, const Share& share, float* losses);

 protected:
  /// `keep`: what backward needs.
  Forward(const Plan& plan, const Kernels& kernels, bool keep) : plan_(plan), k_(kernels), keep_(keep) {}
  virtual void lay_out(BumpAllocator& layout);
  /// inputs (rows) -> logits_ (rows, V)
  void forward(const Share& chunk);
  /// Sequences of a chunk; all chunks of a share are of almost one size.
  static std::int64_t sequences_at_once(std::int64_t count, std::int64_t T);
  /// body(chunk, first of its sequences within the share)
  template <class Body>
  void for_each_chunk(const Share& share, const Body& body) {
    const std::int64_t at_once = sequences_at_once(share.count, share.T);
    for (std::int64_t begin = 0; begin < share.count; begin += at_once) {
      if (share.heartbeat != nullptr) (*share.heartbeat)(static_cast<double>(begin) / static_cast<double>(share.count));
      Share chunk = share;
      chunk.inputs += begin * share.T;
      chunk.targets += begin * share.T;
      chunk.first += begin;
      chunk.count = std::min(at_once, share.count - begin);
      body(chunk, begin);
    }
  }

  /// One head of one sequence.
  struct Head {
    HeadShape shape;
    const float* q;           ///< keys and values lie J and 2 J behind it
    float* softmax;           ///< its RowStatistics
    const DropoutMask* mask;  ///< null: no dropout
    std::uint64_t first;      ///< element of the mask
    long qkv, o;              ///< where it begins in what is laid out like the record's
  };
  /// body(head) for every sequence of a chunk.
  template <class Body>
  void for_each_head(const BlockRecord& record, long layer, const Share& chunk, const Body& body) const {
    const long hs = plan_.head_size, T = chunk.T, ld = row_stride(3 * plan_.joined), ldo = row_stride(plan_.joined);
    const bool drops = plan_.dropout.attention > 0 && chunk.seed != nullptr;
    const DropoutMask mask = drops ? words(plan_.dropout.attention, mask_of(layer, 0), chunk) : DropoutMask{};
    for (long s = 0; s < chunk.count; ++s)
      for (long h = 0; h < plan_.heads; ++h) {
        const long qkv = s * T * ld + h * hs;
        body(Head{.shape = {.T = T, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale},
                  .q = record.qkv + qkv,
                  .softmax = record.softmax + (s * plan_.heads + h) * 2 * T,
                  .mask = drops ? &mask : nullptr,
                  .first = static_cast<std::uint64_t>(((chunk.first + s) * plan_.heads + h) * T * T),
                  .qkv = qkv,
                  .o = s * T * ldo + h * hs});
      }
  }

  bool halves() const { return plan_.half != nullptr && keep_; }
  long widest() const;
  const Bf16* packed_halves(std::int64_t place) const {
    return reinterpret_cast<const Bf16*>(weights_->packed + place);
  }
  void product(long out, long in, const float* x, long ldx, std::int64_t packed, float* y, long ldy, bool add) const;
  void apply(const LinearPlan& layer, const float* x, long ldx, float* y, long ldy, bool add) const;
  void drop(double rate, std::uint32_t mask, const Share& chunk, float* x);
  DropoutMask words(double rate, std::uint32_t mask, const Share& chunk) const;
  std::uint32_t mask_of(long layer, int place) const;
  const float* value(const Parameter& p) const {
    return p.there() ? weights_->values[static_cast<std::size_t>(p.group)] + p.offset : nullptr;
  }

  const Plan& plan_;
  const Kernels& k_;
  const bool keep_;
  const Weights* weights_ = nullptr;
  std::int64_t sequences_ = 0, T_ = 0;  ///< of a chunk at most, as prepared
  long rows_ = 0;                       ///< of the chunk under way
  std::vector<BlockRecord> records_;    ///< of each block
  Bf16* rounded_ = nullptr;
  float* joined_ = nullptr;                       ///< (rows, tables * width)
  float *x_first_ = nullptr, *x_last_ = nullptr;  ///< (rows, C): what the first block reads, and what the last left
  float *h_last_ = nullptr, *statistics_last_ = nullptr, *branch_ = nullptr;
  float *logits_ = nullptr, *losses_ = nullptr, *scratch_ = nullptr;

 private:
  void embed(const Share& chunk);
  void look_up(const Share& chunk, float* x);
  void repeat(const float* x, float* qkv) const;
  void heads(const BlockRecord& record, long layer, const Share& chunk);
  void mean(const BlockRecord& record, const Share& chunk) const;
  void mix(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk);
  void attend(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk);
  void feed(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk, float* next);
  void normalise(const NormPlan& norm, const float* x, float* y, float* statistics) const;
  void normalise_in_place(const NormPlan& norm, float* x, float* statistics);

  AlignedFloats memory_;
};

}  // namespace chargpt::cpu
