// Files that are whole or absent. Every failure is an Error naming the path and the system's reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace chargpt {

/// An open file or folder, which closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }
  /// Closes now; false with errno set where the system reports a late write error.
  bool close();

 private:
  int number_;
};

/// Whole file as bytes. Error missing where there is none, io where reading fails or it is a folder, data above
/// max_bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = UINT64_MAX);

enum class Links { refuse, follow };

/// The same of a file that must be a regular one, as in a run: anything else is Error data, without waiting for it. The
/// last name of `path` must not be a symbolic link, unless those are followed.
std::string read_regular_file(const std::filesystem::path& path, std::uint64_t max_bytes = UINT64_MAX,
                              Links links = Links::refuse);

/// Opens `name` of an open folder (or of AT_FDCWD) as read_regular_file does. `shown` names it in messages.
Descriptor open_regular_file(int folder, const std::string& name, const std::filesystem::path& shown,
                             Links links = Links::refuse);
std::uint64_t file_size(const Descriptor& file, const std::filesystem::path& shown);
/// From where the descriptor stands to the end. Errors: io, data above max_bytes.
std::string read_open_file(const Descriptor& file, std::uint64_t max_bytes, const std::filesystem::path& shown);

/// A stretch of a file that may be growing, and which file it is of: another identity is another file of the same name.
struct FileStretch {
  std::uint64_t identity = 0, size = 0;
  std::string bytes;
};
/// At most `most` bytes from `offset` on. Errors as read_regular_file.
FileStretch read_stretch(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t most);

/// Temp file in the same folder, write, fsync, rename over path, fsync the folder. Afterwards the old or the new file
/// is there, whole.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);
/// The same of `name` in an open folder.
void write_file_atomically(int folder, const std::string& name, std::string_view bytes,
                           const std::filesystem::path& shown);

/// Hands `bytes` to the system, at `offset` of the file or where the descriptor stands. Returns how many it took: fewer
/// than all, with errno set, where it refused.
std::size_t write_all(int descriptor, std::span<const std::byte> bytes, std::optional<std::uint64_t> offset = {});

void fsync_path(const std::filesystem::path& path);
void fsync_folder(int descriptor, const std::filesystem::path& shown);

/// CRC-64 (ECMA-182, reflected; xz's): catches accidental damage, not malice. `so_far` continues an earlier sum.
std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t so_far = 0);
std::uint64_t crc64(std::string_view bytes, std::uint64_t so_far = 0);

}  // namespace chargpt
