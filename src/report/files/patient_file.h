// A file that grows record by record: each call passes its bytes to the system at once, so readers see everything that
// the last call wrote. Independent of formats. For files that must be complete or absent see base/files.h.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace chargpt {

/// Called with a message once each time writing starts to fail.
using Complaint = std::function<void(const std::string&)>;

/// Appends records and tolerates write errors: a full disk must not end the training. Keeps unwritten records in
/// memory, in order, and retries from the first unwritten byte with each later record.
class PatientFile {
 public:
  /// Opens the file at its end, or creates it; refuses a symbolic link. Errors: io.
  PatientFile(std::filesystem::path path, Complaint complain);
  /// Calls the complaint if writing fails (disk full, quota); without a complaint throws Error io.
  void write(std::string_view record);

 private:
  std::filesystem::path path_;
  Descriptor file_;
  Complaint complain_;
  std::string waiting_;
};

}  // namespace chargpt
