// The state of a decoder for each sequence: ids, keys and values of every layer and head, and convolution inputs of the
// last tokens, so that a new token needs only its own computation. Independent of weights and threads.
//
// Letters: hs features per head. A slot stores one sequence.
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
  /// Allocates `slots` empty sequences.
  void make_room(std::int64_t slots);
  /// Copies everything except the ids from one sequence to another.
  void copy(std::int64_t from, std::int64_t to);
  /// Stores keys and values k, v (count, hs) with row stride `ld` for positions from `first`.
  void store(long layer, std::int64_t slot, long head, long first, long count, const float* k, const float* v, long ld);

  /// The ids of a sequence: (block_size).
  std::int64_t* tokens(std::int64_t slot) { return tokens_.data() + slot * plan_.block_size; }
  /// The keys of a head, in the panels of Kernels::attention: (positions / panel_width, hs, panel_width).
  float* keys(long layer, std::int64_t slot, long head) const;
  /// The values of a head: (block_size, hs).
  float* values(long layer, std::int64_t slot, long head) const;

  /// Input (C) of the convolution before a sublayer (attention, mlp) at `position`. Only the last `conv_width`
  /// positions are stored.
  float* conv_input(long layer, Place place, std::int64_t slot, std::int64_t position) const;

  /// Size of one sequence in floats.
  std::int64_t floats() const { return plan_.n_layer * of_layer_; }

 private:
  const Plan& plan_;
  const Kernels& k_;
  long key_positions_;               ///< block_size rounded up to whole panels
  std::int64_t of_head_, of_layer_;  ///< floats: keys and values of a head; all heads, then convolution inputs
  std::int64_t slots_ = 0;
  AlignedFloats memory_;  ///< indexed by layer, slot
  std::vector<std::int64_t> tokens_;
};

}  // namespace chargpt::cpu
