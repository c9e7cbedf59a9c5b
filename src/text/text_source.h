// Where the bytes of a text come from: a file read piece by piece, or a string in memory, front to back. Knows no
// character, no vocabulary and no id.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace chargpt {

/// Told how many bytes are read.
using ByteNote = std::function<void(std::uint64_t bytes)>;

/// One text by name. Cheap to copy.
struct TextSource {
  std::string name;
  std::filesystem::path path = {};                ///< of a file, which is read in pieces, each time anew
  std::shared_ptr<const std::string> bytes = {};  ///< of a text in memory, else null
  ByteNote note = {};                             ///< of a file: told the bytes of each piece as it is read

  static TextSource in_memory(std::string name, std::string bytes);
  /// A pipe or device, which can be read only once, whole. `note` is told the bytes read so far, several times a
  /// second, even while none arrive. Errors as read_file.
  static TextSource pipe(const std::filesystem::path& path, std::uint64_t max_bytes, const ByteNote& note);
  /// The same of the process's standard input, whatever that is.
  static TextSource standard_input(std::uint64_t max_bytes, const ByteNote& note);
  static TextSource file(const std::filesystem::path& path);
};

/// Reads one source front to back, without its byte order mark. Errors as read_file.
class TextReader {
 public:
  explicit TextReader(const TextSource& source);
  /// The next piece, starting with the last `kept` bytes of the one before; no more than these at the end.
  std::string_view next(std::size_t kept = 0);
  /// Bytes of the source before the first piece.
  std::uint64_t skipped() const { return skipped_; }

 private:
  /// Fills piece_ from the file, after the last `kept` bytes of what it held.
  std::string_view read_piece(std::size_t kept);

  TextSource source_;
  std::optional<Descriptor> file_;
  std::string piece_;
  std::size_t piece_size_ = 0;
  std::string_view first_piece_;
  bool started_ = false;
  std::uint64_t skipped_ = 0;
};

/// data/sample.txt, compiled into the program.
std::string_view sample_text();

/// The kind of `source` by its first bytes: an archive, a picture, a text of another encoding and so on; none for plain
/// text.
std::optional<FileKind> kind_of(const TextSource& source);

}  // namespace chargpt
