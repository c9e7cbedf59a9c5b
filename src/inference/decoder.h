// Continues sequences token by token on the raw weights: their keys and values are kept, and nothing is allocated after
// start(). Inference alone. Knows no tensor, no sampling and no text.
//
// Letters: C width, J joined heads, T tokens of a window.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/plan.h"
#include "kernels/autotuner.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"

namespace chargpt::cpu {

class Decoder {
 public:
  /// `values`: the parameters, by the groups of the plan; they must outlive the decoder and not change. `narrow`:
  /// matrices are kept as bfloat16, which are read in half the time; arithmetic stays float32.
  Decoder(Plan plan, std::vector<const float*> values, const Kernels& kernels, int threads, bool narrow = false);

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
  /// Floats that each sequence keeps.
  static std::int64_t kept_floats(const Plan& plan, const Kernels& kernels);

 private:
  /// Buffers of one thread, or of a team at work on the same rows, which share all but the private ones.
  struct Lane {
    AlignedFloats memory;
    float *x, *qkv, *o, *u, *gate, *g;                   ///< (rows, …)
    float *h, *joined, *statistics, *inverse, *scratch;  ///< private
    float* panel;                                        ///< private: one that was narrow; null where none is
    std::vector<std::int64_t> rows;                      ///< private: of an n-gram in each table
  };
  void lay_out(Lane& lane, BumpAllocator& layout) const;

  /// Consecutive positions of sequences: what one forward pass takes. Position p of a sequence sees those before it,
  /// which an earlier piece has run: in the same layer, where that piece is another thread's.
  struct Piece {
    const std::int64_t* slots = nullptr;
    long sequences = 0, first = 0, count = 0;
    long place = 0;                                     ///< where the keys and values of the first one are kept
    const float *cosines = nullptr, *sines = nullptr;   ///< of these positions (count, hs/2)
    float* logits = nullptr;                            ///< of the last position; null: only keys and values are wanted
    const std::atomic<std::int64_t>* before = nullptr;  ///< layers that the piece before has been through
    std::atomic<std::int64_t>* done = nullptr;          ///< the same of this piece
  };
  /// A member's part in a pass: `of` members take columns of the same products.
  struct Part {
    Lane& shared;
    Lane& own;
    int member, of;
  };
  struct Columns {
    long begin, end;
  };

  void pack_weights();
  void narrow_panels(const LinearPlan& layer, long begin, long end, float* scratch);
  void make_room(std::int64_t sequences);
  void run_windows(long T);
  void run_whole(long T, long begin, long end, int member);
  void run_split(long T, long sequence);
  int most_together() const;
  void run_last();
  void run_last(bool together);
  void turn_to(std::int64_t position);
  void stand_at(Piece& piece, long first) const;

  void forward(const Piece& piece, const Part& part);
  void embed(const Piece& piece, const Part& part);
  void look_up(const Part& part, long row, const std::int64_t* ids, long position);
  void project(const BlockPlan& block, const float* h, long ldh, const Piece& piece, const Part& part, long queries);
  void repeat(const float* h, long ldh, long rows, const Part& part);
  void attend(const BlockPlan& block, long layer, const Piece& piece, const Part& part, long queries);
  void add_attended(const BlockPlan& block, const Part& part, float* x, long ldx, long rows);
  void heads(long layer, const Piece& piece, const Part& part, long queries);
  void feed(const BlockPlan& block, const Part& part, float* x, long ldx, long rows);
  void finish(const Piece& piece, const Part& part, const float* x, long ldx);
  void meet(const Part& part);

  Columns columns_of(long width, const Part& part) const;
  void apply(const LinearPlan& layer, Columns columns, long rows, const float* x, long ldx, float* y, long ldy,
             bool add, const Part& part) const;
  void apply_narrow(const LinearPlan& layer, Columns columns, long rows, const float* x, long ldx, float* y, long ldy,
                    bool add, float* panel) const;
  /// Panel `index` of a layer's columns.
  float* panel_of(const LinearPlan& layer, long index) const {
    return packed_.data() + layer.forward + index * layer.in * k_.panel_width;
  }
  Bf16* narrow_panel_of(const LinearPlan& layer, long index) const {
    return reinterpret_cast<Bf16*>(packed_.data() + layer.forward) + index * narrow_panel(layer);
  }
  long narrow_panel(const LinearPlan& layer) const {
    return static_cast<long>(rounded_up(layer.in, 2)) * k_.panel_width;
  }
  const float* normalise(const NormPlan& norm, long rows, const float* x, long ldx, const Part& part) const;
  void normalise_in_place(const NormPlan& norm, long rows, float* x, long ldx, const Part& part);
  static long key_positions(const Plan& plan, const Kernels& kernels);
  void keep_keys(const float* k, long ld, long first, long count, float* keys) const;
  float* keys_of(long layer, std::int64_t slot, long head) const;
  float* values_of(long layer, std::int64_t slot, long head) const;
  std::int64_t* tokens_of(std::int64_t slot) { return tokens_.data() + slot * plan_.block_size; }

  const float* value(const Parameter& p) const {
    return p.there() ? values_[static_cast<std::size_t>(p.group)] + p.offset : nullptr;
  }

  Plan plan_;
  std::vector<const float*> values_;
  const Kernels& k_;
  bool narrow_;
  ThreadTeam team_;
  AlignedFloats packed_;
  std::vector<Lane> lanes_;

  long key_positions_, logits_stride_;
  std::int64_t capacity_ = 0;
  AlignedFloats kept_;                  ///< keys (in panels) and values (block_size, hs) by layer, slot, head
  std::vector<std::int64_t> tokens_;    ///< (slots, block_size)
  std::vector<std::int64_t> slots_;     ///< where each sequence lies
  long length_ = 0;                     ///< of every sequence
  std::int64_t position_ = 0;           ///< of their last id; behind block_size keys and values lie in a ring
  std::vector<float> cosines_, sines_;  ///< of that position
  AlignedFloats logits_;
  Autotuner faster_, faster_window_;                 ///< 1: together; of a token, and of a whole window
  std::vector<std::atomic<std::int64_t>> progress_;  ///< of each piece of a split window
};

}  // namespace chargpt::cpu
