#include "base/files.h"

#include <fcntl.h>
#include <lzma.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

/// What a person can do about it, where that is more than the system's reason says.
std::string advice(int reason) {
  if (reason == ENOSPC || reason == EDQUOT) return "; free some space, or choose another folder";
  if (reason == EACCES || reason == EPERM || reason == EROFS)
    return "; check its permissions, or choose another folder";
  if (reason == ENOENT || reason == ENOTDIR) return "; make its folder first";
  if (reason == ENOMEM) return "; free some memory, or raise the limit (ulimit -v)";
  if (reason == EMFILE || reason == ENFILE) return "; raise the limit of open files (ulimit -n)";
  return "";
}

[[noreturn]] void fail(const std::string& action, const std::filesystem::path& path, int reason) {
  throw Error(reason == ENOMEM ? ExitCode::memory : ExitCode::io, "cannot " + action + " " + printable_path(path) +
                                                                      ": " + std::generic_category().message(reason) +
                                                                      advice(reason));
}

/// An open file; closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  /// Closes now; false with errno set where the system reports a late write error.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// What stands where a regular file should.
std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

[[noreturn]] void refuse_kind(const std::filesystem::path& path, const std::string& kind) {
  throw Error(ExitCode::data, printable_path(path) + " is " + kind + ", and should be a regular file");
}

/// Opens for reading; Error missing where nothing is there, io where it may not be read. `more`: flags of open().
int open_to_read(const std::filesystem::path& path, int more = 0) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | more);
  if (number >= 0) return number;
  if (errno == ENXIO) refuse_kind(path, "a socket");  // or a device that nothing serves
  if (errno == ENOENT || errno == ENOTDIR) throw Error(ExitCode::missing, printable_path(path) + " does not exist");
  const int reason = errno;
  throw Error(ExitCode::io, "cannot read " + printable_path(path) + ": " + std::generic_category().message(reason));
}

void refuse_folder(const Descriptor& file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail("read", path, errno);
  if (S_ISDIR(status.st_mode))
    throw Error(ExitCode::io, "cannot read " + printable_path(path) + ": it is a folder; name a file");
}

/// Of a file that was opened with O_NONBLOCK, as a pipe would be waited for before it could be looked at.
struct stat status_of_regular(const Descriptor& file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail("read", path, errno);
  if (!S_ISREG(status.st_mode)) refuse_kind(path, kind_of(status.st_mode));
  return status;
}

/// Up to buffer's size of bytes; 0 at the end of the file.
std::size_t read_some(const Descriptor& file, std::span<char> buffer, const std::filesystem::path& path) {
  while (true) {
    const ssize_t count = ::read(file.number(), buffer.data(), buffer.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail("read", path, errno);
  }
}

/// Read in pieces: a size that the system reports is no promise (pipes, growing files, /proc), nor a reason to
/// allocate.
std::string read_all(const Descriptor& file, std::uint64_t max_bytes, const std::filesystem::path& path) {
  std::string bytes;
  std::array<char, 1 << 16> piece;
  while (const std::size_t count = read_some(file, piece, path)) {
    if (count > max_bytes - bytes.size())
      throw Error(ExitCode::data,
                  printable_path(path) + " is larger than " + std::to_string(max_bytes) + " bytes, the limit here");
    bytes.append(piece.data(), count);
  }
  return bytes;
}

/// A name beside `path`, another each time, that no other thread or process of the program uses.
std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> count{0};
  std::string name = ".";
  name += path.filename().native() + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  return path.parent_path() / name;
}

/// A new empty file beside `path` for what is to become it, and its name: never one that is there, nor through a link.
int open_temporary(const std::filesystem::path& path, std::filesystem::path& temporary) {
  while (true) {
    temporary = temporary_beside(path);
    const int number = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number >= 0) return number;
    if (errno != EEXIST) fail("write", path, errno);
  }
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const Descriptor file(open_to_read(path));
  refuse_folder(file, path);
  return read_all(file, max_bytes, path);
}

std::string read_regular_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const Descriptor file(open_to_read(path, O_NONBLOCK));
  status_of_regular(file, path);
  return read_all(file, max_bytes, path);
}

FileStretch read_stretch(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t most) {
  const Descriptor file(open_to_read(path, O_NONBLOCK));
  const struct stat status = status_of_regular(file, path);
  FileStretch stretch{.identity = status.st_ino, .size = static_cast<std::uint64_t>(status.st_size), .bytes = {}};
  if (offset >= stretch.size) return stretch;
  if (::lseek(file.number(), static_cast<off_t>(offset), SEEK_SET) < 0) fail("read", path, errno);
  stretch.bytes.resize(std::min(most, stretch.size - offset));
  std::size_t done = 0;
  while (const std::size_t count = read_some(file, std::span(stretch.bytes).subspan(done), path)) done += count;
  stretch.bytes.resize(done);
  return stretch;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path temporary;
  Descriptor file(open_temporary(path, temporary));
  try {
    if (write_all(file.number(), std::as_bytes(std::span(bytes))) < bytes.size()) fail("write", path, errno);
    if (::fsync(file.number()) != 0 || !file.close()) fail("write", path, errno);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("replace", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  fsync_path(folder_of(path));
}

std::size_t write_all(int descriptor, std::span<const std::byte> bytes, std::optional<std::uint64_t> offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto rest = bytes.subspan(done);
    const ssize_t count = offset ? ::pwrite(descriptor, rest.data(), rest.size(), static_cast<off_t>(*offset + done))
                                 : ::write(descriptor, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void fsync_path(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail("save", path, errno);
  // EINVAL: a file system that cannot sync this kind of object (folders on some network mounts) has nothing to promise.
  if (::fsync(file.number()) != 0 && errno != EINVAL) fail("save", path, errno);
}

std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t so_far) {
  return lzma_crc64(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), so_far);
}

std::uint64_t crc64(std::string_view bytes, std::uint64_t so_far) {
  return crc64(std::as_bytes(std::span(bytes)), so_far);
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(open_to_read(path, O_NONBLOCK));
  const struct stat status = status_of_regular(file, path);
  if (status.st_size == 0) return;
  void* const start =
      ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (start == MAP_FAILED) fail("map", path, errno);
  data_ = static_cast<const std::byte*>(start);
  size_ = static_cast<std::size_t>(status.st_size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace chargpt
