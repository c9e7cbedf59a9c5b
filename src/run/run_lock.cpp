// The lock of a run folder; see run_folder.h.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/paths.h"
#include "run/run_files.h"
#include "run/run_folder.h"

namespace chargpt {
namespace {

/// The holder's process id as it wrote it; for people only, so a file that says anything else says nothing.
std::string holder(int descriptor) {
  std::array<char, 16> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size() - 1, 0);
  const std::string digits(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return is_number(digits) ? " (process " + digits + ")" : "";
}

[[noreturn]] void fail(const Descriptor& lock, const std::filesystem::path& run, int reason) {
  if (reason == EWOULDBLOCK)
    throw Error(ExitCode::busy, run, " is in use by another process", holder(lock.number()),
                "; wait for it, stop it, or choose another folder with --run");
  if (reason == EISDIR || reason == ENXIO || reason == EBADFD || reason == ELOOP)
    throw Error(ExitCode::data, run, "/.lock is not a regular file, so it is no lock; remove it");
  if (reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP || reason == EINVAL)
    throw Error(ExitCode::io, "cannot lock ", run, "/.lock: the file system does not support locks (",
                std::generic_category().message(reason),
                "); choose a run folder on another one (--run DIR), or mount it with locks (NFS: local_lock=flock, "
                "Lustre: flock)");
  if (reason == ENOENT) throw Error(ExitCode::missing, run, " does not exist");
  throw Error(ExitCode::io, "cannot lock ", run, "/.lock: ", std::generic_category().message(reason));
}

/// A full disk leaves the lock without a name, not without effect.
void write_holder(int descriptor) {
  const std::string id = std::to_string(::getpid());
  [[maybe_unused]] const bool written =
      ::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, id.data(), id.size(), 0) > 0;
}

bool is_regular(int descriptor) {
  struct stat opened {};
  return ::fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode);
}

/// Opened and locked. It may have gone with its folder between the two, or is_locked() may hold it for an instant.
Descriptor locked(const std::filesystem::path& run) {
  const std::filesystem::path path = run / lock_name;
  constexpr int most_attempts = 6;
  for (int attempt = 1;; ++attempt) {
    Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (lock.number() >= 0 && !is_regular(lock.number())) fail(lock, run, EBADFD);
    if (lock.number() >= 0 && ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0) {
      if (is_at(path, lock)) return lock;
    } else if (errno != EWOULDBLOCK || attempt >= most_attempts) {
      fail(lock, run, errno);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

}  // namespace

// The file stays when the lock is given up: removing it would let two processes lock two files of one name. Who removes
// it with its folder does so under the lock, and who waited for it looks again.
RunLock::RunLock(const std::filesystem::path& run) : lock_(locked(run)) {
  write_holder(lock_.number());
}

bool is_locked(const std::filesystem::path& run) {
  const std::filesystem::path path = run / lock_name;
  try {
    const Descriptor file = open_regular_file(AT_FDCWD, path.native(), path);
    return ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  } catch (const Error&) {  // what cannot be opened, or is no file, is no lock
    return false;
  }
}

}  // namespace chargpt
