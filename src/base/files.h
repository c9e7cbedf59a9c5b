// Files that are whole or absent. Every failure is an Error naming the path and the system's reason.
#pragma once

#include <cstdint>
#include <filesystem>
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
/// Up to buffer's size of bytes; 0 at the end of the file. Errors: io.
std::size_t read_some(const Descriptor& file, std::span<char> buffer, const std::filesystem::path& shown);
/// Whether a path leads to a file or folder that was opened, which may have gone meanwhile. True where the disk does
/// not answer.
bool is_at(const std::filesystem::path& path, const Descriptor& opened);
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

/// Hands `bytes` to the system. Returns how many it took: fewer than all, with errno set, where it refused.
std::size_t write_all(int descriptor, std::span<const std::byte> bytes);

void fsync_path(const std::filesystem::path& path);
void fsync_folder(int descriptor, const std::filesystem::path& shown);

/// "cannot ACTION PATH: ", the system's reason, and what to do about it. Error io; memory where it is the lack of that;
/// missing where what is to be read is not there.
[[noreturn]] void fail_on(const std::string& action, const std::filesystem::path& path, int reason);

}  // namespace chargpt
