// Reads and writes files (a written file is complete or absent), handles paths, and recognises files that are not plain
// text. Every failure is an Error that names the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/heartbeat.h"

namespace chargpt {

namespace fs = std::filesystem;

/// Owns the descriptor of an open file or folder.
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
  /// Closes now. Returns false, with errno set, if the system reports a late write error.
  bool close();

 private:
  int number_;
};

/// The whole file as bytes, or all that comes out of a pipe. Errors: missing; io if reading fails or `path` is a
/// folder; data for a socket. Others, and the last three parameters, as read_to_end().
std::string read_file(const fs::path& path, std::uint64_t max_bytes = UINT64_MAX,
                      const std::string& reason = "the limit here", const Heartbeat& heartbeat = {});

enum class Links { refuse, follow };

/// Reads a regular file; Error data for anything else, without blocking (a pipe in a run folder must not hang a
/// command). `links`: whether the last component of `path` may be a symbolic link. Other errors as read_file.
std::string read_regular_file(const fs::path& path, std::uint64_t max_bytes = UINT64_MAX, Links links = Links::refuse);

/// Opens a regular file. Errors and `links` as read_regular_file.
Descriptor open_regular_file(const fs::path& path, Links links = Links::refuse);
std::uint64_t file_size(const Descriptor& file, const fs::path& shown);
/// Reads at most buffer.size() bytes, and waits for the first; returns 0 at the end of the file. `shown`: the path in
/// messages. Errors: io.
std::size_t read_some(const Descriptor& file, std::span<char> buffer, const fs::path& shown);
/// Fills the buffer; returns fewer bytes than its size only at the end of the file. Errors: io.
std::size_t read_fully(const Descriptor& file, std::span<char> buffer, const fs::path& shown);
/// Reads from the descriptor's position to the end of a file or pipe. `heartbeat`: also called while a pipe has no
/// bytes. Errors: io; data above max_bytes, with the reason of the limit.
std::string read_to_end(const Descriptor& file, const fs::path& shown, std::uint64_t max_bytes = UINT64_MAX,
                        const std::string& reason = "the limit here", const Heartbeat& heartbeat = {});
/// Whether `path` still leads to the opened file or folder, which may have been renamed or removed. True if the disk
/// does not answer.
bool is_at(const fs::path& path, const Descriptor& opened);
/// Opens a folder. Errors: io.
Descriptor open_folder(const fs::path& path);

/// A part of a file that may be growing. A changed `identity` (inode) means that another file has taken the name.
struct FileStretch {
  std::uint64_t identity = 0, size = 0;
  std::string bytes;
};
/// Reads at most `most` bytes from `offset` on. Errors as read_regular_file.
FileStretch read_stretch(const fs::path& path, std::uint64_t offset, std::uint64_t most, Links links = Links::refuse);

/// Receives a file's bytes piece by piece, in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// Writes a temporary file in the same folder, syncs it, renames it to `path` and syncs the folder. Whatever happens,
/// `path` is the old or the new file, complete. Errors: io.
void write_file_atomically(const fs::path& path, const std::function<void(const ByteSink&)>& write);
void write_file_atomically(const fs::path& path, std::string_view bytes);

/// Writes `bytes` to a descriptor. Returns how many were written: fewer than all, with errno set, after a failure.
std::size_t write_all(int descriptor, std::span<const std::byte> bytes);

void fsync_path(const fs::path& path);

/// Throws the Error "cannot ACTION PATH: REASON", with advice where there is any. Code: missing if the file to be read
/// does not exist, memory for ENOMEM, else io.
[[noreturn]] void fail_on(const std::string& action, const fs::path& path, int reason);

// These three follow links. Error io if the disk fails: the file may exist.
bool is_there(const fs::path& path);  ///< or may be: the system does not let this user look
bool is_file(const fs::path& path);   ///< a regular file
bool is_folder(const fs::path& path);

/// The type of the entry at `path`, which may be a link; not_found if there is none. Error io if the disk does not
/// answer, because the entry may exist.
fs::file_type type_at(const fs::path& path);
/// Sorted names of a folder's entries; empty if the folder does not exist. Errors: io.
std::vector<std::string> entries_of(const fs::path& path);
/// Makes a folder. Returns false if it exists already. Errors: io.
bool make_folder(const fs::path& path);

/// "; did you mean texts/book.txt?": suggests the entry of the same folder with the nearest name (see nearest_name).
/// Returns "" if no name is near or the folder cannot be read.
std::string nearest_entry(const fs::path& missing);

/// The parent of a path; "." for a bare name.
fs::path folder_of(const fs::path& path);

/// Removes a final slash, so that filename() is not empty. Keeps "..": the part before it may be a link, which only the
/// system resolves.
fs::path without_final_slash(const fs::path& path);

/// The name of a file or folder: the last component of its path. For "." and "..", the name of the folder they resolve
/// to.
std::string name_of_path(const fs::path& path);
/// The name of each path; the folders are private.
std::vector<std::string> names_of_paths(std::vector<std::string> paths);

/// Whether this is the name of a temporary file of write_file_atomically (".chargpt-PROCESS-NUMBER.partial"), which a
/// killed process leaves behind.
bool is_unfinished_file(std::string_view name);

struct FileKind {
  std::string_view name;    ///< "a ZIP archive"
  std::string_view advice;  ///< "unpack it": how to get plain text
};

/// What a file is, by its first 20 bytes; nullopt for plain text and unknown kinds.
std::optional<FileKind> kind_of_file(std::string_view first_bytes);

}  // namespace chargpt
