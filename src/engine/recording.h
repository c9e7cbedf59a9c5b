// Work on a device, recorded once and then repeated: the host launches one graph in place of hundreds of kernels. A
// recording reads and writes the memory that the work did, so whatever is to change between repeats lies in tensors
// made before. Knows no model and no step.
#pragma once

#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>

namespace chargpt {

/// A queue of work beside the device's default one, on which alone CUDA records. On the CPU there is none.
class DeviceStream {
 public:
  explicit DeviceStream(const torch::Device& device);

  /// While it lives work is queued there; it begins after all that was queued before, and ends when that is done.
  class Use {
   public:
    explicit Use(const DeviceStream& stream);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const DeviceStream& stream_;
    c10::OptionalStreamGuard guard_;
  };

 private:
  torch::Device device_;
  std::optional<c10::Stream> stream_;
};

class RecordedWork {
 public:
  RecordedWork() = default;
  virtual ~RecordedWork() = default;
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;
  virtual void repeat() = 0;
};

using WorkRecorder =
    std::function<std::unique_ptr<RecordedWork>(const torch::Device& device, const std::function<void()>& work)>;

/// A WorkRecorder. On CUDA a graph of the kernels that `work` launches, which do not run yet; it must neither wait nor
/// transfer, must have run before, and a DeviceStream must be in use. On the CPU repeating is doing it again. Throws
/// what LibTorch throws for work that cannot be recorded, and Error unavailable where LibTorch has no such graphs.
std::unique_ptr<RecordedWork> record(const torch::Device& device, const std::function<void()>& work);

}  // namespace chargpt
