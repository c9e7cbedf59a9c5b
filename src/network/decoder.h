// Continues sequences token by token, with a cache of keys and values: which positions are run, and by which thread.
// What running them computes is in forward.h. Nothing is allocated after start(). Knows no sampling and no text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/buffers.h"
#include "kernels/thread_team.h"
#include "network/forward.h"
#include "network/sequence_cache.h"

namespace chargpt::cpu {

class Decoder {
 public:
  /// `team` must outlive it. Sequences are shared out over its threads, each run by one; a single one of a large model
  /// is run by half as many together, to the same bits.
  explicit Decoder(ForwardTeam& team);

  /// Makes `sequences` equal ones of the ids, 1 to block_size of them. Logits of what follows: (sequences, V), rows
  /// `stride()` apart, which the caller may use up.
  float* start(std::span<const std::int64_t> ids, std::int64_t sequences);
  /// One more id for each sequence. Sequences of block_size ids first lose their oldest, all but the last `kept` of
  /// them (0 to block_size - 1), and what is left is run again: its positions have changed. `kept` = block_size: only
  /// the oldest makes room, and nothing is run again; for positions that are told apart by distance alone (rope, none).
  /// Logits as above.
  float* append(std::span<const std::int64_t> ids, std::int64_t kept);
  /// Goes on with these sequences, given in ascending order.
  void keep(std::span<const std::int64_t> sequences);

  std::int64_t stride() const { return logits_stride_; }

 private:
  void reserve(std::int64_t sequences);
  template <class Body>
  void share_out(const Body& body);
  void prefill(long T);
  void decode_token();
  void set_position(std::int64_t position);
  Chunk chunk_of(long sequence, long sequences, long first, std::int64_t position, long count);

  ForwardTeam& team_;
  const Plan& plan_;
  SequenceCache cache_;

  long logits_stride_;
  std::vector<std::int64_t> slots_;         ///< of the cache, where each sequence lies
  long length_ = 0;                         ///< of every sequence
  std::int64_t position_ = 0;               ///< of their last id; behind block_size keys and values lie in a ring
  std::vector<float> rope_cos_, rope_sin_;  ///< of that position
  AlignedFloats logits_;
  std::optional<ThreadTeam> helpers_;
};

}  // namespace chargpt::cpu
