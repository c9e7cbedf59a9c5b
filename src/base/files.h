// Files that are whole or absent, what paths lead to and may have been meant for, and the kinds of files that are not
// plain text. Every failure is an Error naming the path and the system's reason.
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

/// Opens a file as read_regular_file does.
Descriptor open_regular_file(const std::filesystem::path& path, Links links = Links::refuse);
std::uint64_t file_size(const Descriptor& file, const std::filesystem::path& shown);
/// Up to buffer's size of bytes; 0 at the end of the file. Errors: io.
std::size_t read_some(const Descriptor& file, std::span<char> buffer, const std::filesystem::path& shown);
/// Whether a path leads to a file or folder that was opened, which may have gone meanwhile. True where the disk does
/// not answer.
bool is_at(const std::filesystem::path& path, const Descriptor& opened);
/// Errors: io.
Descriptor open_folder(const std::filesystem::path& path);
/// From where the descriptor stands to the end. Errors: io, data above max_bytes.
std::string read_open_file(const Descriptor& file, std::uint64_t max_bytes, const std::filesystem::path& shown);

/// A stretch of a file that may be growing, and which file it is of: another identity is another file of the same name.
struct FileStretch {
  std::uint64_t identity = 0, size = 0;
  std::string bytes;
};
/// At most `most` bytes from `offset` on. Errors as read_regular_file.
FileStretch read_stretch(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t most);

/// Takes a file's bytes piece by piece, in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// Writes a temporary file in the same folder, syncs it, renames it to path, syncs the folder. Afterwards the old or
/// the new file is there, whole.
void write_file_atomically(const std::filesystem::path& path, const std::function<void(const ByteSink&)>& write);
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// Hands `bytes` to the system. Returns how many it took: fewer than all, with errno set, where it refused.
std::size_t write_all(int descriptor, std::span<const std::byte> bytes);

void fsync_path(const std::filesystem::path& path);

/// "cannot ACTION PATH: ", the system's reason, and what to do about it. Error io; memory where it is the lack of that;
/// missing where what is to be read is not there.
[[noreturn]] void fail_on(const std::string& action, const std::filesystem::path& path, int reason);

// What is there, links followed; false where that cannot be told.
bool is_there(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);  ///< a regular one
bool is_folder(const std::filesystem::path& path);

/// The type of what has that name; not_found if there is none. Links::refuse: of a link itself. Error io if the disk
/// does not answer: what cannot be looked at may exist.
std::filesystem::file_type type_at(const std::filesystem::path& path, Links links = Links::refuse);
/// Names in a folder, in ascending order; none if there is no such folder. Errors: io.
std::vector<std::string> entries_of(const std::filesystem::path& path);
/// False if the folder exists already. Errors: io.
bool make_folder(const std::filesystem::path& path);

/// One decimal digit or more, and nothing else.
inline bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "; did you mean texts/book.txt?": the entry of its folder whose name is nearest (see nearest_name); empty where
/// there is none, or the folder cannot be read.
std::string nearest_entry(const std::filesystem::path& missing);

/// Where the last name of a path is: its parent; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Without a slash at its end, so that it has a name. What stands before ".." may be a link, so only the system
/// resolves it.
std::filesystem::path without_final_slash(const std::filesystem::path& path);

/// What a file or folder is called: the last name of its path, or, where that is "." or "..", of what the system finds
/// there.
std::string name_of_path(const std::filesystem::path& path);
/// The same of each: without the folders, which are private.
std::vector<std::string> names_of_paths(std::vector<std::string> paths);

/// ".chargpt-PROCESS-NUMBER.partial": what was being written whole (base/files.h) when a process ended.
bool is_unfinished_file(std::string_view name);

struct FileKind {
  std::string_view name;    ///< "a ZIP archive"
  std::string_view advice;  ///< "unpack it": how to get plain text
};

/// How many bytes kind_of_file needs.
constexpr std::size_t kind_bytes = 512;

/// None for plain text and for unknown kinds.
std::optional<FileKind> kind_of_file(std::string_view first_bytes);

}  // namespace chargpt
