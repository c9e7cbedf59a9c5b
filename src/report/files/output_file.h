// A file written from front to back: each call hands its bytes to the system at once, so a reader never sees less than
// what the last call wrote. Knows no format. For files that must be whole or absent see base/files.h.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"

namespace chargpt {

/// Every failure is an Error io naming the path and the system's reason (disk full, quota, permissions).
class OutputFile {
 public:
  enum class Start {
    fresh,  ///< an Error if anything has that name, even a link
    append  ///< never through a link
  };
  OutputFile(std::filesystem::path path, Start start);
  /// A file just opened, or errno where it could not be. `shown` names it in messages.
  OutputFile(Descriptor file, std::filesystem::path shown);

  /// After an Error, unwritten() knows which of its bytes are not in the file.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }
  /// The bytes of the last write() that did not reach the file.
  std::size_t unwritten() const { return unwritten_; }
  /// Waits until the bytes are on the disk, then closes; failures that only close() could report are lost without it.
  void sync_and_close();

 private:
  [[noreturn]] void fail(int reason) const;
  std::filesystem::path path_;
  Descriptor file_;
  std::size_t unwritten_ = 0;
};

/// Called with a line for people, once each time writing begins to fail.
using Complaint = std::function<void(const std::string&)>;

/// Records that a run appends: a disk that is full for an hour must not end the training. What cannot be written is
/// kept in memory, in order, and tried again with each later record, from the byte where it broke off.
class PatientFile {
 public:
  /// Errors: io if the file cannot be opened.
  PatientFile(std::filesystem::path path, OutputFile::Start start, Complaint complain);
  /// Complains in place of throwing an Error io; throws it if there is nobody to complain to.
  void write(std::string_view record);

 private:
  OutputFile file_;
  Complaint complain_;
  std::string waiting_;
};

}  // namespace chargpt
