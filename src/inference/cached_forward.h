// Positions of sequences through the whole model, over the keys and values of those before them: the decoder's forward
// pass, by one thread, or by several that share each matmul's columns and the heads. Follows a Plan. Allocates when it
// is made. Knows no sampling, and not who runs what (decoder.h).
//
// It shares its kernels and layers.h with Forward (forward.h), and stays apart from it because it leaves out what a
// decoder does not ask for: of the last layer all but keys and values of earlier positions, and their logits. Of
// nanogpt-cpu it runs a window of 64 tokens in 0.94 ms, Forward in 1.15 ms, and one token in 0.044 and 0.053 ms (one
// thread, AMD EPYC, family 25 model 17). It also reads matrices as bfloat16, and several threads may share a position.
//
// Letters: A = nh hs; rows are the positions of a chunk, sequence after sequence.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "inference/layers.h"
#include "inference/pack_weights.h"
#include "inference/plan.h"
#include "inference/sequence_cache.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"

namespace chargpt::cpu {

class CachedForward {
 public:
  static constexpr long max_rows = 128;  ///< of a chunk

  /// All that is given by reference must outlive it. `bf16`: matrices are kept as bfloat16. Packs the weights.
  CachedForward(const Plan& plan, const std::vector<const float*>& values, const Kernels& kernels, bool bf16,
                ThreadTeam& team, SequenceCache& cache);

  /// Consecutive positions of sequences: what one forward pass takes. Position p of a sequence sees those before it,
  /// which an earlier chunk has run: in the same layer, where that chunk is another thread's.
  struct Chunk {
    const std::int64_t* slots = nullptr;
    long sequences = 0, first = 0, count = 0;
    /// Of the first one since the last one that was run anew: where sequences slide, beyond `first`. Its keys and
    /// values lie at `position` mod block_size.
    std::int64_t position = 0;
    const float *rope_cos = nullptr, *rope_sin = nullptr;  ///< of these positions (count, hs/2)
    float* logits = nullptr;  ///< (sequences, V) of the last position, rows row_stride(V) apart; null: only keys and
                              ///< values are wanted
    const std::atomic<std::uint32_t>* previous_layers_done = nullptr;  ///< of the chunk before this one
    std::atomic<std::uint32_t>* layers_done = nullptr;                 ///< of this one
  };
  /// All of a chunk, by thread `thread` of the team.
  void run(const Chunk& chunk, int thread);
  /// What thread `index` does of a chunk that threads 0 to `count` - 1 run together.
  void run_shard(const Chunk& chunk, int index, int count);
  /// Threads that find work in a chunk that they share: a panel of the narrowest matmul each.
  int max_shards() const;

 private:
  /// Buffers of one thread, or of several at work on the same rows, which share all but the private ones.
  struct Workspace {
    AlignedFloats memory;
    float *x, *qkv, *o, *fc, *gate, *hidden;         ///< (rows, ...)
    float *normed, *norm_stats, *qk_rstd, *scratch;  ///< private
    float *conv_input, *convolved;                   ///< private; null where nothing is convolved
    float* panel;                                    ///< private: one of bfloat16 in float32; null where there are none
  };
  /// What one of `count` threads does in a pass that they share: its columns of each matmul, and its heads.
  struct Shard {
    Workspace& shared;
    Workspace& own;
    int index, count;
  };
  void allocate_buffers(Workspace& workspace, BumpAllocator& memory) const;

  void forward(const Chunk& chunk, const Shard& shard);
  void embed(const Chunk& chunk, const Shard& shard);
  void project_qkv(const BlockPlan& block, const float* h, long ldh, const Chunk& chunk, const Shard& shard,
                   long queries);
  void attention(const BlockPlan& block, long layer, const Chunk& chunk, const Shard& shard, long queries);
  void attention_output(const BlockPlan& block, const Shard& shard, float* x, long ldx, long rows);
  void cache_keys_and_values(long layer, const Chunk& chunk, const Shard& shard);
  void cached_attention(long layer, const Chunk& chunk, const Shard& shard, long queries);
  void mlp(const BlockPlan& block, long layer, const Chunk& chunk, const Shard& shard, float* x, long ldx, long rows);
  void lm_head(const Chunk& chunk, const Shard& shard, const float* x, long ldx);
  void barrier(const Shard& shard);

  Range heads_of(const Shard& shard) const;
  Range columns_of(long width, const Shard& shard) const;
  void linear(const LinearPlan& layer, Range columns, long rows, const float* x, long ldx, float* y, long ldy, bool add,
              const Shard& shard) const;
  void linear_bf16(const LinearPlan& layer, Range columns, long rows, const float* x, long ldx, float* y, long ldy,
                   bool add, float* panel) const;
  /// Panel `index` of a layer's columns.
  float* panel_of(const LinearPlan& layer, long index) const {
    return packed_.data() + layer.packed_forward + index * layer.in * k_.panel_width;
  }
  Bf16* bf16_panel_of(const LinearPlan& layer, long index) const {
    return reinterpret_cast<Bf16*>(packed_.data() + layer.packed_forward) + index * bf16_panel_size(layer.in, k_);
  }
  const float* convolve(const Parameter& weight, long layer, ConvolutionPlace place, const Chunk& chunk, const float* x,
                        long ldx, const Shard& shard);
  const float* normalise(const NormPlan& norm, long rows, const float* x, long ldx, const Shard& shard) const;
  void normalise_in_place(const NormPlan& norm, long rows, float* x, long ldx, const Shard& shard);

  const float* value(const Parameter& p) const { return p.in(values_); }

  const Plan& plan_;
  const std::vector<const float*>& values_;
  const Kernels& k_;
  const bool bf16_;
  ThreadTeam& team_;
  SequenceCache& cache_;
  AlignedFloats packed_;
  std::vector<Workspace> workspaces_;  ///< one for each thread of the team
};

}  // namespace chargpt::cpu
