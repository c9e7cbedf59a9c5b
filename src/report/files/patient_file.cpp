#include "report/files/patient_file.h"

#include <utility>

#include "base/error.h"

namespace chargpt {

PatientFile::PatientFile(std::filesystem::path path, OutputFile::Start start, Complaint complain)
    : file_(std::move(path), start), complain_(std::move(complain)) {}

void PatientFile::write(std::string_view record) {
  const bool was_waiting = !waiting_.empty();
  waiting_ += record;
  try {
    file_.write(waiting_);
    waiting_.clear();
  } catch (const Error& failure) {
    waiting_.erase(0, waiting_.size() - file_.unwritten());
    if (!complain_ || failure.code() != ExitCode::io) throw;
    if (!was_waiting)
      complain_(std::string(failure.what()) + "; its lines are kept in memory until it can be written again");
  }
}

}  // namespace chargpt
