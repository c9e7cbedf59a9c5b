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

namespace {

/// What a recording needs first: libraries' workspaces, and gradients that autograd ties to the stream of recording.
constexpr int runs_before_recording = 3;

/// While it lives, work goes to a stream of its own, as recording demands, in order with all before and after it.
class OwnStream {
 public:
  explicit OwnStream(const c10::cuda::CUDAStream& stream) : device_(stream.device_index()), guard_(wait(stream)) {}
  ~OwnStream() {
    try {
      c10::cuda::device_synchronize();
    } catch (const std::exception&) {  // the next operation reports it
    }
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

 private:
  static const c10::cuda::CUDAStream& wait(const c10::cuda::CUDAStream& stream) {
    const c10::cuda::CUDAGuard device(stream.device_index());
    c10::cuda::device_synchronize();
    return stream;
  }
  c10::cuda::CUDAGuard device_;
  c10::cuda::CUDAStreamGuard guard_;
};

}  // namespace

struct RecordedWork::Recording {
  at::cuda::CUDAGraph graph;
};

void RecordedWork::run(const std::function<void()>& work) {
  if (recording_) return recording_->graph.replay();
  if (!device_.is_cuda() || fails_) return work();
  if (!stream_) stream_ = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_.index()).unwrap();
  {
    const OwnStream own{c10::cuda::CUDAStream(*stream_)};
    if (ordinary_runs_++ < runs_before_recording) return work();
    c10::cuda::CUDACachingAllocator::emptyCache();  // a recording keeps memory of its own
    fails_ = !record(work);
  }
  if (fails_) return work();
  recording_->graph.replay();
}

/// Whether the work could be recorded; nothing has run then.
bool RecordedWork::record(const std::function<void()>& work) {
  auto recording = std::make_unique<Recording>();
  recording->graph.capture_begin();
  try {
    work();
    recording->graph.capture_end();
  } catch (const std::exception&) {
    try {
      recording->graph.capture_end();
    } catch (const std::exception&) {  // as expected: what was recorded is invalid
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
RecordedWork::RecordedWork(RecordedWork&&) noexcept = default;

void RecordedWork::forget() {
  recording_.reset();
  ordinary_runs_ = 0;
}

}  // namespace chargpt
