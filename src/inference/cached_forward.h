// Positions of sequences through the whole model, over the keys and values of those before them: the decoder's forward
// pass, by one thread. Follows a Plan. Allocates when it is made. Knows no sampling, and not who runs what (decoder.h).
//
// It shares its kernels and layers.h with Forward (forward.h), and stays apart from it because it leaves out what a
// decoder does not ask for: of the last layer all but keys and values of earlier positions, and their logits. Of
// nanogpt-cpu it runs a window of 64 tokens in 0.94 ms, Forward in 1.15 ms, and one token in 0.044 and 0.053 ms (one
// thread, AMD EPYC, family 25 model 17).
//
// Letters: A = nh hs; rows are the positions of a chunk, sequence after sequence.
#pragma once

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

  /// All that is given by reference must outlive it. Packs the weights.
  CachedForward(const Plan& plan, const std::vector<const float*>& values, const Kernels& kernels, ThreadTeam& team,
                SequenceCache& cache);

  /// Consecutive positions of sequences: what one forward pass takes. Position p of a sequence sees those before it,
  /// which an earlier chunk has run.
  struct Chunk {
    const std::int64_t* slots = nullptr;
    long sequences = 0, first = 0, count = 0;
    /// Of the first one since the last one that was run anew: where sequences slide, beyond `first`. Its keys and
    /// values lie at `position` mod block_size.
    std::int64_t position = 0;
    const float *rope_cos = nullptr, *rope_sin = nullptr;  ///< of these positions (count, hs/2)
    float* logits = nullptr;  ///< (sequences, V) of the last position, rows row_stride(V) apart; null: only keys and
                              ///< values are wanted
  };
  /// All of a chunk, by thread `thread` of the team.
  void run(const Chunk& chunk, int thread);

 private:
  /// Buffers of one thread.
  struct Workspace {
    AlignedFloats memory;
    float *x, *qkv, *o, *fc, *gate, *hidden;  ///< (rows, ...)
    float *normed, *norm_stats, *qk_rstd, *scratch;
    float *conv_input, *convolved;  ///< null where nothing is convolved
  };
  void allocate_buffers(Workspace& workspace, BumpAllocator& memory) const;

  void embed(const Chunk& chunk, Workspace& work) const;
  void project_qkv(const BlockPlan& block, const float* h, long ldh, const Chunk& chunk, Workspace& work,
                   long queries) const;
  void attention(const BlockPlan& block, long layer, const Chunk& chunk, Workspace& work, long queries);
  void attention_output(const BlockPlan& block, Workspace& work, float* x, long ldx, long rows) const;
  void cache_keys_and_values(long layer, const Chunk& chunk, Workspace& work);
  void cached_attention(long layer, const Chunk& chunk, Workspace& work, long queries);
  void mlp(const BlockPlan& block, long layer, const Chunk& chunk, Workspace& work, float* x, long ldx, long rows);
  void lm_head(const Chunk& chunk, Workspace& work, const float* x, long ldx) const;

  void linear(const LinearPlan& layer, Range columns, long rows, const float* x, long ldx, float* y, long ldy,
              bool add) const;
  void linear(const LinearPlan& layer, long rows, const float* x, long ldx, float* y, long ldy, bool add) const {
    linear(layer, {0, layer.out}, rows, x, ldx, y, ldy, add);
  }
  const float* convolve(const Parameter& weight, long layer, ConvolutionPlace place, const Chunk& chunk, const float* x,
                        long ldx, Workspace& work);
  const float* normalise(const NormPlan& norm, long rows, const float* x, long ldx, Workspace& work) const;
  void normalise_in_place(const NormPlan& norm, long rows, float* x, long ldx, Workspace& work) const;

  const float* value(const Parameter& p) const { return p.in(values_); }

  const Plan& plan_;
  const std::vector<const float*>& values_;
  const Kernels& k_;
  SequenceCache& cache_;
  AlignedFloats packed_;
  std::vector<Workspace> workspaces_;  ///< one for each thread
};

}  // namespace chargpt::cpu
