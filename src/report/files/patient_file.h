// A file of records that a run appends to: a disk that is full for an hour must not end the training. Knows no format.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "report/files/output_file.h"

namespace chargpt {

/// Called with a line for people, once each time writing begins to fail.
using Complaint = std::function<void(const std::string&)>;

/// What cannot be written is kept in memory, in order, and tried again with each later record, from the byte where it
/// broke off.
class PatientFile {
 public:
  /// Errors: io if the file cannot be opened.
  PatientFile(std::filesystem::path path, OutputFile::Start start, Complaint complain);
  /// Complains in place of throwing an Error io; throws it if there is nobody to complain to.
  void write(std::string_view record);
  /// Bytes that are not in the file yet.
  std::size_t waiting() const { return waiting_.size(); }

 private:
  OutputFile file_;
  Complaint complain_;
  std::string waiting_;
};

}  // namespace chargpt
