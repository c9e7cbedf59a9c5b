// Windows of a text, and the interface for scoring them: by an inference model or a model in training.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/token_view.h"

namespace chargpt {

/// B windows of T ids. The window at start s has inputs tokens[s] to tokens[s + T - 1] and targets tokens[s + 1] to
/// tokens[s + T]; targets that do not count (base/token_view.h) are no_target. A view: the ids and the starts must
/// outlive it.
struct WindowBatch {
  TokenView tokens;
  std::span<const std::int64_t> starts;
  std::int64_t T = 0;

  std::int64_t B() const { return std::ssize(starts); }
  std::int64_t numel() const { return B() * T; }
  /// Number of targets that count.
  std::int64_t counted() const;
  /// `count` of the windows, starting with window `first`.
  WindowBatch part(std::int64_t first, std::int64_t count) const;
  /// Copies as int64 to (B, T).
  void copy_inputs(std::int64_t* to) const;
  void copy_targets(std::int64_t* to) const;
};

/// Throws Error internal if a window is longer than `block_size` or exceeds the text, or if an id is unknown.
void check_windows(const WindowBatch& windows, std::int64_t vocab_size, std::int64_t block_size);

inline constexpr std::int64_t no_target = -1;

/// The number of tokens whose logits need 64 MB, at most `tokens`.
inline std::int64_t logits_at_once(std::int64_t tokens, std::int64_t vocab_size) {
  return std::clamp<std::int64_t>((std::int64_t{16} << 20) / vocab_size, 1, tokens);
}

class WindowScorer {
 public:
  WindowScorer() = default;
  virtual ~WindowScorer() = default;
  WindowScorer(const WindowScorer&) = delete;
  WindowScorer& operator=(const WindowScorer&) = delete;
  /// Number of tokens to score per call. On a CPU, their activations should fit its caches (four models on one core:
  /// 8,192 tokens cost 1 % less to 13 % more per token than 4,096; 65,536 cost 42 to 88 % more).
  virtual std::int64_t tokens_at_once() const { return 4096; }
  /// Writes the loss of each position in nats to (B, T), 0 if the target does not count. Without dropout and always in
  /// float32, so that a checkpoint has the same loss on every engine and device. 1 <= T <= block_size.
  virtual void score(const WindowBatch& windows, std::span<float> losses) = 0;
};

}  // namespace chargpt
