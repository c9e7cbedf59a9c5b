#include "libtorch/recorded_work.h"

#ifdef CHARGPT_CUDA_HEADERS
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#endif

#include <exception>

namespace chargpt {

#ifdef CHARGPT_CUDA_HEADERS

struct RecordedWork::Recording {
  at::cuda::CUDAGraph graph;
};

void RecordedWork::run(const std::function<void()>& work) {
  constexpr int runs_before = 3;  // libraries allocate workspaces, and autograd binds gradients to the stream
  if (recording_) return recording_->graph.replay();
  if (!device_.is_cuda() || fails_) return work();
  const c10::cuda::CUDAGuard device(device_.index());
  if (!stream_) stream_ = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_.index()).unwrap();
  c10::cuda::device_synchronize();  // this stream waits for all others, and they wait for it
  {
    const c10::cuda::CUDAStreamGuard own{c10::cuda::CUDAStream(*stream_)};
    if (ordinary_runs_++ < runs_before) {
      work();
    } else {
      c10::cuda::CUDACachingAllocator::emptyCache();  // a recording has its own memory
      fails_ = !record(work);
    }
    c10::cuda::device_synchronize();
  }
  if (recording_) recording_->graph.replay();
  if (fails_) work();
}

/// Records the work without running it. Returns false if it cannot be recorded.
bool RecordedWork::record(const std::function<void()>& work) {
  auto recording = std::make_unique<Recording>();
  recording->graph.capture_begin();
  try {
    work();
    recording->graph.capture_end();
  } catch (const std::exception&) {
    try {
      recording->graph.capture_end();
    } catch (const std::exception&) {  // expected: the recording is invalid
    }
    return false;
  }
  recording_ = std::move(recording);
  return true;
}

#else

struct RecordedWork::Recording {};

void RecordedWork::run(const std::function<void()>& work) {
  work();
}

#endif

RecordedWork::RecordedWork(const torch::Device& device) : device_(device) {}
RecordedWork::~RecordedWork() = default;

void RecordedWork::forget() {
  recording_.reset();
  ordinary_runs_ = 0;
}

}  // namespace chargpt
