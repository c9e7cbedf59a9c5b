#include "run/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/digits.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"

namespace chargpt {
namespace {

/// The holder's process id as it wrote it; for people only, so a file that says anything else says nothing.
std::string holder(int descriptor) {
  std::array<char, 16> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size() - 1, 0);
  const std::string digits(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return is_number(digits) ? " (process " + digits + ")" : "";
}

[[noreturn]] void fail(int descriptor, const std::string& run, int reason) {
  const std::string who = reason == EWOULDBLOCK ? holder(descriptor) : "";
  if (descriptor >= 0) ::close(descriptor);
  if (reason == EWOULDBLOCK)
    throw Error(ExitCode::busy, run + " is in use by another process" + who +
                                    "; wait for it, stop it, or choose another folder with --run");
  if (reason == EISDIR || reason == ENXIO || reason == EBADFD || reason == ELOOP)
    throw Error(ExitCode::data, run + "/.lock is not a regular file, so it is no lock; remove it");
  if (reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP || reason == EINVAL)
    throw Error(ExitCode::io, "cannot lock " + run + "/.lock: the file system does not support locks (" +
                                  std::generic_category().message(reason) +
                                  "); choose a run folder on another one (--run DIR), or mount it with locks (NFS: "
                                  "local_lock=flock, Lustre: flock)");
  if (reason == ENOENT) throw Error(ExitCode::missing, run + " does not exist");
  throw Error(ExitCode::io, "cannot lock " + run + "/.lock: " + std::generic_category().message(reason));
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

/// Whether the open file is still the one of that name: it may have gone with a folder between opening and locking.
bool has_name(int descriptor, const std::filesystem::path& path) {
  struct stat opened {
  }, named{};
  if (::fstat(descriptor, &opened) != 0) return true;
  if (::stat(path.c_str(), &named) != 0) return errno != ENOENT;
  return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

// The file stays when the lock is given up: removing it would let two processes lock two files of one name. Who removes
// it with its folder does so under the lock, and who waited for it looks again.
RunLock::RunLock(const std::filesystem::path& run) {
  const std::string shown = printable_path(run);
  const std::filesystem::path path = run / ".lock";
  while (true) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd_ >= 0 && !is_regular(fd_)) fail(fd_, shown, EBADFD);
    if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) != 0) fail(fd_, shown, errno);
    if (has_name(fd_, path)) break;
    ::close(fd_);
  }
  write_holder(fd_);
}

bool is_locked(const std::filesystem::path& run) {
  const std::filesystem::path path = run / ".lock";
  try {
    const Descriptor file = open_regular_file(AT_FDCWD, path.native(), path);
    return ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  } catch (const Error&) {  // what cannot be opened, or is no file, is no lock
    return false;
  }
}

RunLock::~RunLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace chargpt
