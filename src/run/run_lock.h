// Who works in a run folder: one process at a time.
#pragma once

#include <filesystem>

#include "base/files.h"

namespace chargpt {

/// Whether a process holds the lock of a run folder.
bool is_locked(const std::filesystem::path& run);

/// Exclusive lock of a run folder (flock on RUN/.lock, released by the kernel when the process ends). Error busy if
/// held.
class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& run);

 private:
  Descriptor lock_;
};

}  // namespace chargpt
