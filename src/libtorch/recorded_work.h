// Work on a GPU that is recorded once, as a CUDA graph, and then repeated: launching its several hundred kernels one by
// one takes the host longer than the GPU needs for them. Independent of what the work is.
#pragma once

#include <c10/core/Stream.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>

namespace chargpt {

class RecordedWork {
 public:
  explicit RecordedWork(const torch::Device& device);
  ~RecordedWork();

  /// Runs `work`, which always launches the same operations on the same tensors and waits for none. The first runs are
  /// ordinary ones; from then on the recording runs in its place. Without a GPU, and where recording fails, all are
  /// ordinary.
  void run(const std::function<void()>& work);
  /// Other work comes: it will be recorded anew.
  void forget();

 private:
  struct Recording;
  bool record(const std::function<void()>& work);

  torch::Device device_;
  std::unique_ptr<Recording> recording_;
  std::optional<c10::Stream> stream_;  ///< of ordinary runs and of recording
  int ordinary_runs_ = 0;
  bool fails_ = false;
};

}  // namespace chargpt
