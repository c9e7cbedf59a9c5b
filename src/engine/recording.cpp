#include "engine/recording.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"

// LibTorch's graphs of any device, which 2.13 has and 2.11 has not: they need none of CUDA's own headers.
#if __has_include(<ATen/accelerator/Graph.h>)
#include <ATen/DeviceAccelerator.h>
#include <ATen/accelerator/Graph.h>
#define CHARGPT_HAS_GRAPHS 1
#endif

namespace chargpt {
namespace {

class DoneAgain : public RecordedWork {
 public:
  explicit DoneAgain(std::function<void()> work) : work_(std::move(work)) {}
  void repeat() override { work_(); }

 private:
  std::function<void()> work_;
};

#ifdef CHARGPT_HAS_GRAPHS

class Graph : public RecordedWork {
 public:
  Graph(const torch::Device& device, const std::function<void()>& work) {
    // what the work took when it was tried would else stay beside what the graph takes
    at::getDeviceAllocator(device.type())->emptyCache();
    graph_.capture_begin();
    try {
      work();
    } catch (...) {
      end_quietly();
      throw;
    }
    graph_.capture_end();
  }
  void repeat() override { graph_.replay(); }

 private:
  /// Until then the device refuses all other work; that ending it fails too is no news.
  void end_quietly() {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
    }
  }

  at::accelerator::Graph graph_;
};

#endif

}  // namespace

DeviceStream::DeviceStream(const torch::Device& device) : device_(device) {
  if (!device.is_cpu()) stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

DeviceStream::Use::Use(const DeviceStream& stream) : stream_(stream) {
  if (!stream.stream_) return;
  c10::impl::VirtualGuardImpl(stream.device_.type()).getStream(stream.device_).synchronize();
  guard_.reset_stream(*stream.stream_);
}

DeviceStream::Use::~Use() {
  if (!stream_.stream_) return;
  try {
    stream_.stream_->synchronize();
  } catch (const std::exception&) {  // it comes again where a result is read
  }
}

std::unique_ptr<RecordedWork> record(const torch::Device& device, const std::function<void()>& work) {
  if (device.is_cpu()) return std::make_unique<DoneAgain>(work);
#ifdef CHARGPT_HAS_GRAPHS
  return std::make_unique<Graph>(device, work);
#else
  throw Error(ExitCode::unavailable, "this LibTorch records no work on a device; 2.13 does");
#endif
}

}  // namespace chargpt
