// Extends sequences token by token, with a cache of keys and values: decides which positions and threads to run.
// forward.h defines the computation. Does not allocate after start(). Independent of sampling and text.
#pragma once

#include <array>
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
  /// `team` must outlive it. The sequences are divided among its threads, one thread per sequence; a single sequence of
  /// a large model may use two of them, or half, together. Results do not depend on threads.
  explicit Decoder(ForwardTeam& team);

  /// Starts `sequences` equal sequences with these ids (1 to block_size). Returns the logits of the next id,
  /// (sequences, V), with row stride `stride()`; the caller may overwrite them.
  float* start(std::span<const std::int64_t> ids, std::int64_t sequences);
  /// Appends one id to each sequence. A sequence of block_size ids first drops all but its last `kept` ids (0 to
  /// block_size - 1), and the rest is run again because its positions change. kept = block_size: drops only the oldest
  /// id and does not rerun; for models that depend only on relative positions (rope, none). Returns logits like
  /// start().
  float* append(std::span<const std::int64_t> ids, std::int64_t kept);
  /// Keeps only these sequences, in ascending order.
  void keep(std::span<const std::int64_t> sequences);

  std::int64_t stride() const { return logits_stride_; }

 private:
  void reserve(std::int64_t sequences);
  void run_from(long first);
  void choose_crew(double seconds);

  ForwardTeam& team_;
  const Plan& plan_;
  SequenceCache cache_;

  long logits_stride_;
  std::vector<std::int64_t> slots_;  ///< cache slot of each sequence
  long length_ = 0;                  ///< number of ids in every sequence
  std::int64_t position_ = 0;        ///< of the last id; after block_size positions, keys and values are a ring
  AlignedFloats logits_;
  std::optional<Crew> crew_;
  bool together_ = false;                 ///< whether the crew runs the next tokens
  std::int64_t stretches_ = 0;            ///< since the slower one was tried
  std::int64_t runs_ = 0;                 ///< of the present stretch
  double seconds_ = 0;                    ///< of the present stretch: the sum of seconds per token of its runs
  std::array<double, 2> last_seconds_{};  ///< per token in the last stretch with one thread, and with the crew
};

}  // namespace chargpt::cpu
