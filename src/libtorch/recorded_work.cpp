#include "libtorch/recorded_work.h"

#ifdef CHARGPT_CUDA_HEADERS
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#endif

#include <exception>
#include <memory>

namespace chargpt {

#ifdef CHARGPT_CUDA_HEADERS

void RecordedWork::run(const torch::Device& device, const std::function<void()>& work) {
  constexpr int runs_before = 3;  // libraries allocate workspaces, and autograd binds gradients to the stream
  if (replay_) return replay_();
  if (!device.is_cuda() || fails_) return work();
  const c10::cuda::CUDAGuard guard(device.index());
  if (!stream_) stream_ = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()).unwrap();
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
  if (replay_) replay_();
  if (fails_) work();
}

/// Records the work without running it. Returns false if it cannot be recorded.
bool RecordedWork::record(const std::function<void()>& work) {
  const auto graph = std::make_shared<at::cuda::CUDAGraph>();
  graph->capture_begin();
  try {
    work();
    graph->capture_end();
  } catch (const std::exception&) {
    try {
      graph->capture_end();
    } catch (const std::exception&) {  // expected: the recording is invalid
    }
    return false;
  }
  replay_ = [graph] { graph->replay(); };
  return true;
}

#else

void RecordedWork::run(const torch::Device& /*device*/, const std::function<void()>& work) {
  work();
}

#endif

void RecordedWork::forget() {
  replay_ = nullptr;
  ordinary_runs_ = 0;
}

}  // namespace chargpt
