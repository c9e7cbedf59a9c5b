#include "report/files/patient_file.h"

#include <fcntl.h>

#include <cerrno>
#include <span>
#include <utility>

#include "base/error.h"

namespace chargpt {

PatientFile::PatientFile(std::filesystem::path path, Complaint complain)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666)),
      complain_(std::move(complain)) {
  if (file_.number() < 0) fail_on("write", path_, errno);
}

void PatientFile::write(std::string_view record) {
  const bool was_waiting = !waiting_.empty();
  waiting_ += record;
  const std::size_t written = write_all(file_.number(), std::as_bytes(std::span(waiting_)));
  const int reason = errno;
  waiting_.erase(0, written);
  if (waiting_.empty()) return;
  try {
    fail_on("write", path_, reason);
  } catch (const Error& failure) {
    if (!complain_) throw;
    if (!was_waiting)
      complain_(std::string(failure.what()) + "; its lines are kept in memory until it can be written again");
  }
}

}  // namespace chargpt
