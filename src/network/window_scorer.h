// Windows of a text, and what can score them: a model held for inference, or one in training.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/token_view.h"

namespace chargpt {

/// B windows of T ids each: the one that starts at s has inputs tokens[s] to tokens[s + T - 1], and as targets the ids
/// one place on; targets that do not count (see base/token_view.h) are no_target. A view: of the ids where they are
/// stored, and of the starts.
struct WindowBatch {
  TokenView tokens;
  std::span<const std::int64_t> starts;
  std::int64_t T = 0;

  std::int64_t B() const { return std::ssize(starts); }
  std::int64_t numel() const { return B() * T; }
  /// How many of the targets count.
  std::int64_t counted() const;
  /// `count` of the windows, from `first` on.
  WindowBatch part(std::int64_t first, std::int64_t count) const;
  /// As int64 into (B, T).
  void copy_inputs(std::int64_t* to) const;
  void copy_targets(std::int64_t* to) const;
};

/// Error internal for a window longer than `block_size` or not wholly in the text, or an id outside the vocabulary.
void check_windows(const WindowBatch& windows, std::int64_t vocab_size, std::int64_t block_size);

inline constexpr std::int64_t no_target = -1;

/// Of so many tokens those whose logits take 64 MB at most.
inline std::int64_t logits_at_once(std::int64_t tokens, std::int64_t vocab_size) {
  return std::clamp<std::int64_t>((std::int64_t{16} << 20) / vocab_size, 1, tokens);
}

class WindowScorer {
 public:
  WindowScorer() = default;
  virtual ~WindowScorer() = default;
  WindowScorer(const WindowScorer&) = delete;
  WindowScorer& operator=(const WindowScorer&) = delete;
  /// How many tokens to score at once: on a CPU, those whose activations stay in its caches (four models on one core:
  /// 8,192 cost 1 % less to 13 % more each than 4,096, 65,536 cost 42 to 88 % more).
  virtual std::int64_t tokens_at_once() const { return 4096; }
  /// Loss of each position, nats, without dropout, always in float32, so that a checkpoint has one loss on every engine
  /// and device: into (B, T), 0 where a target does not count. 1 <= T <= block_size.
  virtual void score(const WindowBatch& windows, std::span<float> losses) = 0;
};

}  // namespace chargpt
