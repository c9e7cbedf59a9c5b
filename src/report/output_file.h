// A file written from front to back: every byte is handed to the system in the call that brings it, so what a reader
// sees is never older than the last call. Knows no format. For files that must be whole or absent see base/files.h.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace chargpt {

/// Every failure is an Error io naming the path and the system's reason (disk full, quota, permissions).
class OutputFile {
 public:
  enum class Start {
    fresh,  ///< an Error where anything has that name, a link too
    append
  };
  OutputFile(std::filesystem::path path, Start start);
  /// Closes; failures that only close() could report are lost.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// After an Error, how many of its bytes are in the file is known to unwritten().
  void write(std::span<const std::byte> bytes);
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }
  /// Those bytes of the last write() that did not get there.
  std::size_t unwritten() const { return unwritten_; }
  /// Waits until the bytes are on the disk, then closes.
  void sync_and_close();

 private:
  [[noreturn]] void fail(int reason) const;
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t unwritten_ = 0;
};

}  // namespace chargpt
