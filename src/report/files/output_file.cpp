#include "report/files/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"

namespace chargpt {
namespace {

Descriptor opened(const std::filesystem::path& path, OutputFile::Start start) {
  const int place = start == OutputFile::Start::append ? O_APPEND | O_NOFOLLOW | O_NONBLOCK : O_EXCL;
  return Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | place, 0666));
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, Start start) : OutputFile(opened(path, start), path) {}

OutputFile::OutputFile(Descriptor file, std::filesystem::path shown) : path_(std::move(shown)), file_(std::move(file)) {
  if (file_.number() < 0) fail(errno);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  unwritten_ = bytes.size() - write_all(file_.number(), bytes);
  if (unwritten_ > 0) fail(errno);
}

void OutputFile::sync_and_close() {
  if (::fsync(file_.number()) != 0 && errno != EINVAL) fail(errno);  // EINVAL: a device has nothing to sync
  if (!file_.close()) fail(errno);
}

void OutputFile::fail(int reason) const {
  const std::string advice = reason == ENOSPC || reason == EDQUOT ? "; free some space"
                             : reason == EEXIST                   ? "; rename or remove the existing file"
                                                                  : "";
  throw Error(ExitCode::io, "cannot write ", printable_path(path_), ": ", std::generic_category().message(reason),
              advice);
}

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
