// Windows through the whole model, a few sequences at a time so that what a layer makes is still in the cache when the
// next one reads it: one thread's share of scoring, and the first half of one of training, which keeps what backward
// needs (engine/cpu/forward_backward.h). Follows a Plan. Allocates in prepare() alone. Knows no other thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heartbeat.h"
#include "inference/plan.h"
#include "inference/window_scorer.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"

namespace chargpt::cpu {

/// Where the weights are: values by group, and the packed matrices.
struct WeightPointers {
  std::vector<const float*> values;
  const float* packed = nullptr;
};

/// Dropout's seed of one micro-batch.
struct DropoutSeed {
  std::uint32_t words[2] = {0, 0};
};

/// Where a block drops, in the order in which model/layers.cpp asks for the masks: attention's weights, its output, the
/// feed-forward layer's.
enum class DropoutPlace { attention, attention_output, mlp };

/// Some windows of one micro-batch.
struct BatchSlice {
  WindowBatch windows{};
  std::int64_t first = 0;             ///< of the windows, within what this process has of the micro-batch
  std::int64_t elsewhere = 0;         ///< windows of the micro-batch before those of this process: dropout counts them
  float scale = 0;                    ///< of each token's gradient: 1 / tokens of the whole step
  const DropoutSeed* seed = nullptr;  ///< null: no dropout
  const Heartbeat* heartbeat = nullptr;  ///< between one chunk of sequences and the next; null: none
};

/// What one block makes in its forward pass, and keeps for backward. Rows are tokens; A = nh hs. Without norms ln_1 is
/// x, and ln_2 is x_mid; without convolutions conv_1 is ln_1, and conv_2 is ln_2.
struct BlockActivations {
  float *x, *ln_1, *ln_1_stats;      ///< (rows, C), (rows, C), (rows, 2)
  float *conv_1, *conv_2;            ///< (rows, C): what attention and the feed-forward layer read
  float *qkv, *qk_rstd;              ///< (rows, 3 A) after norm and rotation, (rows, 2 nh)
  float *softmax_stats, *o;          ///< (sequences, nh, T, 2), (rows, A)
  float *x_mid, *ln_2, *ln_2_stats;  ///< (rows, C), (rows, C), (rows, 2)
  float *fc, *gate, *hidden;         ///< (rows, mlp_width): derivatives, derivatives of the gate, values
};

class Forward {
 public:
  Forward(const Plan& plan, const Kernels& kernels) : Forward(plan, kernels, /*for_backward=*/false) {}
  virtual ~Forward() = default;
  Forward(Forward&&) = default;
  Forward& operator=(Forward&&) = delete;

  /// Makes room for slices of up to `sequences` sequences of T tokens.
  void prepare(std::int64_t sequences, std::int64_t T);
  /// How many floats that room would be.
  std::int64_t count_buffers(std::int64_t sequences, std::int64_t T);
  /// Losses of each token, nats: (count, T). In float32, without dropout.
  void losses(const WeightPointers& weights, const BatchSlice& slice, float* losses);
  /// Logits of each token: (count, T, V).
  void logits(const WeightPointers& weights, const BatchSlice& slice, float* logits);

 protected:
  /// `for_backward`: keeps what backward needs.
  Forward(const Plan& plan, const Kernels& kernels, bool for_backward)
      : plan_(plan), k_(kernels), for_backward_(for_backward) {}
  virtual void allocate_buffers(BumpAllocator& memory);
  /// After the attention of each layer: what its weights can be computed from lies in `acts`.
  virtual void attended(const BlockActivations& /*acts*/, long /*layer*/, const BatchSlice& /*chunk*/) {}
  /// The chunk's inputs, read into inputs_ (rows) -> logits_ (rows, V)
  void forward(const BatchSlice& chunk);
  /// Sequences of a chunk; all chunks of a slice are of almost one size.
  static std::int64_t sequences_at_once(std::int64_t count, std::int64_t T);
  /// body(chunk, first of its sequences within the slice)
  template <class Body>
  void for_each_chunk(const BatchSlice& slice, const Body& body) {
    const std::int64_t count = slice.windows.B(), at_once = sequences_at_once(count, slice.windows.T);
    for (std::int64_t begin = 0; begin < count; begin += at_once) {
      if (slice.heartbeat != nullptr) (*slice.heartbeat)(static_cast<double>(begin) / static_cast<double>(count));
      BatchSlice chunk = slice;
      chunk.windows = slice.windows.part(begin, std::min(at_once, count - begin));
      chunk.first += begin;
      body(chunk, begin);
    }
  }

  /// One head of one sequence.
  struct Head {
    HeadShape shape;
    const float* q;           ///< keys and values lie A and 2 A behind it
    float* softmax_stats;     ///< (T, 2)
    const DropoutMask* mask;  ///< null: no dropout
    std::uint64_t first;      ///< element of the mask
    long qkv, o;              ///< where it begins in what is laid out like qkv, and like o
  };
  /// body(head) for every sequence of a chunk.
  template <class Body>
  void for_each_head(const BlockActivations& acts, long layer, const BatchSlice& chunk, const Body& body) const {
    const long hs = plan_.head_size, T = chunk.windows.T, ld = row_stride(3 * plan_.attention_width),
               ldo = row_stride(plan_.attention_width);
    const bool drops = plan_.dropout.attention > 0 && chunk.seed != nullptr;
    const DropoutMask mask =
        drops ? dropout_mask(plan_.dropout.attention, mask_index(layer, DropoutPlace::attention), chunk)
              : DropoutMask{};
    for (long s = 0; s < chunk.windows.B(); ++s)
      for (long h = 0; h < plan_.n_head; ++h) {
        const long qkv = s * T * ld + h * hs;
        body(Head{.shape = {.T = T, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale},
                  .q = acts.qkv + qkv,
                  .softmax_stats = acts.softmax_stats + (s * plan_.n_head + h) * 2 * T,
                  .mask = drops ? &mask : nullptr,
                  .first = static_cast<std::uint64_t>(((chunk.elsewhere + chunk.first + s) * plan_.n_head + h) * T * T),
                  .qkv = qkv,
                  .o = s * T * ldo + h * hs});
      }
  }

  bool uses_bf16() const { return plan_.bf16 != nullptr && for_backward_; }
  long max_width() const;
  const Bf16* packed_bf16(std::int64_t place) const { return reinterpret_cast<const Bf16*>(weights_->packed + place); }
  void matmul(long out, long in, const float* x, long ldx, std::int64_t packed, float* y, long ldy, bool add) const;
  void linear(const LinearPlan& layer, const float* x, long ldx, float* y, long ldy, bool add) const;
  void dropout(double rate, std::uint32_t mask, const BatchSlice& chunk, float* x);
  DropoutMask dropout_mask(double rate, std::uint32_t mask, const BatchSlice& chunk) const;
  std::uint32_t mask_index(long layer, DropoutPlace place) const;
  const float* value(const Parameter& p) const { return p.in(weights_->values); }

  const Plan& plan_;
  const Kernels& k_;
  const bool for_backward_;
  const WeightPointers* weights_ = nullptr;
  std::int64_t sequences_ = 0, T_ = 0;            ///< of a chunk at most, as prepared
  long rows_ = 0;                                 ///< of the current chunk
  std::vector<std::int64_t> inputs_, targets_;    ///< (rows): its ids
  std::vector<BlockActivations> acts_;            ///< of each block
  Bf16* x_bf16_ = nullptr;                        ///< a linear layer's input, rounded
  float *x_first_ = nullptr, *x_last_ = nullptr;  ///< (rows, C): input of the first block, output of the last
  float *ln_f_ = nullptr, *ln_f_stats_ = nullptr;
  float* branch_ = nullptr;  ///< (rows, C): what a residual branch adds to x
  float *logits_ = nullptr, *losses_ = nullptr, *scratch_ = nullptr;

 private:
  void embed(const BatchSlice& chunk);
  void attention_heads(const BlockActivations& acts, long layer, const BatchSlice& chunk);
  void uniform_attention(const BlockActivations& acts, const BatchSlice& chunk) const;
  void attention(const BlockPlan& block, const BlockActivations& acts, long layer, const BatchSlice& chunk);
  void attention_block(const BlockPlan& block, const BlockActivations& acts, long layer, const BatchSlice& chunk);
  void mlp_block(const BlockPlan& block, const BlockActivations& acts, long layer, const BatchSlice& chunk,
                 float* next);
  void convolve(const Parameter& weight, const BatchSlice& chunk, const float* x, float* y) const;
  void normalise(const NormPlan& norm, const float* x, float* y, float* stats) const;
  void normalise_in_place(const NormPlan& norm, float* x, float* stats);

  AlignedFloats memory_;
};

}  // namespace chargpt::cpu
