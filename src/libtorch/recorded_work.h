// GPU work that is recorded once, as a CUDA graph, and then replayed: launching its several hundred kernels one by one
// takes longer on the host than running them on the GPU. Independent of the kind of work.
#pragma once

#include <c10/core/Stream.h>
#include <torch/types.h>

#include <functional>
#include <optional>

namespace chargpt {

class RecordedWork {
 public:
  /// Runs `work`, which must launch the same operations on the same tensors each time and must not wait for them. The
  /// first calls run it directly; later calls replay the recording. Without a GPU, or if recording fails, every call
  /// runs it directly.
  void run(const torch::Device& device, const std::function<void()>& work);
  /// Discards the recording: the next work is different.
  void forget();

 private:
  bool record(const std::function<void()>& work);

  std::function<void()> replay_;       ///< empty: not recorded
  std::optional<c10::Stream> stream_;  ///< for direct runs and for recording
  int ordinary_runs_ = 0;
  bool fails_ = false;
};

}  // namespace chargpt
