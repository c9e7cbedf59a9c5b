// What a decoder keeps of each sequence: its ids, the keys and values of every layer and head, and what convolutions
// read of its last tokens, so that a new token need not run the earlier ones again. Knows no weight and no thread.
//
// Letters: hs features of a head. A slot is the place of one sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/buffers.h"
#include "kernels/kernels.h"
#include "network/plan.h"

namespace chargpt::cpu {

class SequenceCache {
 public:
  /// `plan` must outlive it.
  explicit SequenceCache(const Plan& plan);
  std::int64_t slots() const { return slots_; }
  /// For `slots` sequences, of which nothing is kept yet.
  void make_room(std::int64_t slots);
  /// Copies all but the ids of one sequence to another.
  void copy(std::int64_t from, std::int64_t to);
  /// Keys and values k, v (count, hs), rows `ld` apart, of positions from `first` on.
  void store(long layer, std::int64_t slot, long head, long first, long count, const float* k, const float* v, long ld);

  /// (block_size)
  std::int64_t* tokens(std::int64_t slot) { return tokens_.data() + slot * plan_.block_size; }
  /// In panels, as Kernels::attention reads them: (positions / panel_width, hs, panel_width).
  float* keys(long layer, std::int64_t slot, long head) const;
  /// (block_size, hs)
  float* values(long layer, std::int64_t slot, long head) const;

  /// What the convolution before a sublayer (attention, mlp) has read at that position, (C). Of the last `conv_width`
  /// positions.
  float* conv_input(long layer, Place place, std::int64_t slot, std::int64_t position) const;

  /// Floats of one sequence.
  std::int64_t floats() const;

 private:
  std::int64_t of_head() const;

  const Plan& plan_;
  const Kernels& k_;
  long key_positions_;  ///< block_size in whole panels
  std::int64_t slots_ = 0;
  AlignedFloats keys_and_values_;  ///< by layer, slot, head
  AlignedFloats conv_inputs_;      ///< by layer, slot, place, position mod conv_width
  std::vector<std::int64_t> tokens_;
};

}  // namespace chargpt::cpu
