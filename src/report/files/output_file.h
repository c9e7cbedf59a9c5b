// A file written sequentially: each call passes its bytes to the system at once, so readers see everything that the
// last call wrote. Independent of formats. For files that must be complete or absent see base/files.h.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"

namespace chargpt {

/// Every failure throws Error io with the path and the system's reason (disk full, quota, permissions).
class OutputFile {
 public:
  enum class Start {
    fresh,  ///< throws Error io if the name exists, even as a link
    append  ///< refuses a symbolic link
  };
  OutputFile(std::filesystem::path path, Start start);
  /// Takes a file just opened; throws Error io with errno if opening failed. `shown`: its name in messages.
  OutputFile(Descriptor file, std::filesystem::path shown);

  /// After an Error, unwritten() is the number of bytes that are not in the file.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }
  /// Number of bytes of the last write() that did not reach the file.
  std::size_t unwritten() const { return unwritten_; }
  /// Waits until the bytes are on the disk, then closes the file. The destructor ignores errors of close().
  void sync_and_close();

 private:
  [[noreturn]] void fail(int reason) const;
  std::filesystem::path path_;
  Descriptor file_;
  std::size_t unwritten_ = 0;
};

/// Called with a message once each time writing starts to fail.
using Complaint = std::function<void(const std::string&)>;

/// Appends records and tolerates write errors: a full disk must not end the training. Keeps unwritten records in
/// memory, in order, and retries from the first unwritten byte with each later record.
class PatientFile {
 public:
  /// Throws Error io if the file cannot be opened.
  PatientFile(std::filesystem::path path, OutputFile::Start start, Complaint complain);
  /// Calls the complaint instead of throwing Error io; throws it if there is no complaint.
  void write(std::string_view record);

 private:
  OutputFile file_;
  Complaint complain_;
  std::string waiting_;
};

}  // namespace chargpt
