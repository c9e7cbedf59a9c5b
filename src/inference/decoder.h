// Continues sequences token by token, with a cache of keys and values; nothing is allocated after start(). Inference
// alone. Knows no tensor, no sampling and no text.
//
// Letters: C n_embd, A = nh hs, T tokens of a window.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/pack_weights.h"
#include "inference/plan.h"
#include "kernels/autotuner.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"

namespace chargpt::cpu {

class Decoder {
 public:
  /// `values`: the parameters, by the groups of the plan; they must outlive the decoder and not change. `bf16`:
  /// matrices are kept as bfloat16, which are read in half the time; arithmetic stays float32.
  Decoder(Plan plan, std::vector<const float*> values, const Kernels& kernels, int threads, bool bf16 = false);

  /// Makes `sequences` equal ones of the ids, 1 to block_size of them. Logits of what follows: (sequences, V), rows
  /// `stride()` apart, which the caller may use up.
  float* start(std::span<const std::int64_t> ids, std::int64_t sequences);
  /// One more id for each sequence. Sequences of block_size ids first lose their oldest, all but the last `kept` of
  /// them (0 to block_size - 1), and what is left is run again: its positions have changed. `kept` = block_size: only
  /// the oldest makes room, and nothing is run again; for positions that are told apart by distance alone (rope, none).
  /// `rerun`: all positions are run again in any case, where they do not slide. Logits as above.
  float* append(std::span<const std::int64_t> ids, std::int64_t kept, bool rerun = false);
  /// Goes on with these sequences, given in ascending order.
  void keep(std::span<const std::int64_t> sequences);

  std::int64_t sequences() const { return static_cast<std::int64_t>(slots_.size()); }
  std::int64_t stride() const { return logits_stride_; }
  const Plan& plan() const { return plan_; }
  /// Floats of the keys and values of one sequence.
  static std::int64_t kv_cache_floats(const Plan& plan, const Kernels& kernels);

 private:
  /// Buffers of one thread, or of several at work on the same rows, which share all but the private ones.
  struct Workspace {
    AlignedFloats memory;
    float *x, *qkv, *o, *fc, *gate, *hidden;                        ///< (rows, ...)
    float *normed, *ngram_concat, *norm_stats, *qk_rstd, *scratch;  ///< private
    float* panel;                          ///< private: one of bfloat16 in float32; null where there are none
    std::vector<std::int64_t> ngram_rows;  ///< private: of one n-gram, in each table
  };
  void allocate_buffers(Workspace& workspace, BumpAllocator& memory) const;

  /// Consecutive positions of sequences: what one forward pass takes. Position p of a sequence sees those before it,
  /// which an earlier chunk has run: in the same layer, where that chunk is another thread's.
  struct Chunk {
    const std::int64_t* slots = nullptr;
    long sequences = 0, first = 0, count = 0;
    long cache_position = 0;                               ///< of the first one
    const float *rope_cos = nullptr, *rope_sin = nullptr;  ///< of these positions (count, hs/2)
    float* logits = nullptr;  ///< of the last position; null: only keys and values are wanted
    const std::atomic<std::int64_t>* previous_layers_done = nullptr;  ///< of the chunk before this one
    std::atomic<std::int64_t>* layers_done = nullptr;                 ///< of this one
  };
  /// What one of `count` threads does in a pass that they share: its columns of each matmul, and its heads.
  struct Shard {
    Workspace& shared;
    Workspace& own;
    int index, count;
  };
  struct Range {
    long begin, end;
  };

  void reserve(std::int64_t sequences);
  void prefill(long T);
  void prefill_sequences(long T, long begin, long end, int thread);
  void prefill_split(long T, long sequence);
  int max_shards() const;
  void decode_token();
  void decode_token(bool together);
  void set_position(std::int64_t position);
  void set_chunk_position(Chunk& chunk, long first) const;

  void forward(const Chunk& chunk, const Shard& shard);
  void embed(const Chunk& chunk, const Shard& shard);
  void add_ngram_rows(const Shard& shard, long row, const std::int64_t* ids, long position);
  void project_qkv(const BlockPlan& block, const float* h, long ldh, const Chunk& chunk, const Shard& shard,
                   long queries);
  void copy_to_qkv(const float* h, long ldh, long rows, const Shard& shard);
  void attention(const BlockPlan& block, long layer, const Chunk& chunk, const Shard& shard, long queries);
  void attention_output(const BlockPlan& block, const Shard& shard, float* x, long ldx, long rows);
  void cache_keys_and_values(long layer, const Chunk& chunk, const Shard& shard);
  void cached_attention(long layer, const Chunk& chunk, const Shard& shard, long queries);
  void mlp(const BlockPlan& block, const Shard& shard, float* x, long ldx, long rows);
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
  const float* normalise(const NormPlan& norm, long rows, const float* x, long ldx, const Shard& shard) const;
  void normalise_in_place(const NormPlan& norm, long rows, float* x, long ldx, const Shard& shard);
  static long key_positions(const Plan& plan, const Kernels& kernels);
  void cache_keys(const float* k, long ld, long first, long count, float* keys) const;
  float* keys_of(long layer, std::int64_t slot, long head) const;
  float* values_of(long layer, std::int64_t slot, long head) const;
  std::int64_t* tokens_of(std::int64_t slot) { return tokens_.data() + slot * plan_.block_size; }

  const float* value(const Parameter& p) const { return p.in(values_); }

  Plan plan_;
  std::vector<const float*> values_;
  const Kernels& k_;
  bool bf16_;
  ThreadTeam team_;
  AlignedFloats packed_;
  std::vector<Workspace> workspaces_;

  long key_positions_, logits_stride_;
  std::int64_t capacity_ = 0;
  AlignedFloats kv_cache_;                  ///< keys (in panels) and values (block_size, hs) by layer, slot, head
  std::vector<std::int64_t> tokens_;        ///< (slots, block_size)
  std::vector<std::int64_t> slots_;         ///< where each sequence lies
  long length_ = 0;                         ///< of every sequence
  std::int64_t position_ = 0;               ///< of their last id; behind block_size keys and values lie in a ring
  std::vector<float> rope_cos_, rope_sin_;  ///< of that position
  AlignedFloats logits_;
  Autotuner token_tuner_, prefill_tuner_;               ///< 1: by all threads together
  std::vector<std::atomic<std::int64_t>> layers_done_;  ///< of each chunk of a split window
};

}  // namespace chargpt::cpu
