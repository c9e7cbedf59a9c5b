// What can score windows of ids: a model held for inference, or one in training.
#pragma once

#include <cstdint>
#include <span>

namespace chargpt {

/// Windows of equal length: inputs (B, T), targets (B, T).
struct WindowBatch {
  std::span<const std::int64_t> inputs, targets;
  std::int64_t T = 0;
  std::int64_t B() const { return static_cast<std::int64_t>(inputs.size()) / T; }
};

class WindowScorer {
 public:
  WindowScorer() = default;
  virtual ~WindowScorer() = default;
  WindowScorer(const WindowScorer&) = delete;
  WindowScorer& operator=(const WindowScorer&) = delete;
  /// Loss of each position, nats, without dropout, always in float32, so that a checkpoint has one loss on every engine
  /// and device: into (B, T). 1 <= T <= block_size.
  virtual void score(const WindowBatch& windows, std::span<float> losses) = 0;
};

}  // namespace chargpt
