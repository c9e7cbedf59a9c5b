// Who works in a run folder: one process at a time.
#pragma once

#include <filesystem>

namespace chargpt {

/// Whether a process holds the lock of a run folder.
bool is_locked(const std::filesystem::path& run);

/// Exclusive lock of a run folder (flock on RUN/.lock, released by the kernel when the process ends). Error busy if
/// held.
class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& run);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace chargpt
