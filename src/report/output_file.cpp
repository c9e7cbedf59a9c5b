#include "report/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"

namespace chargpt {

OutputFile::OutputFile(std::filesystem::path path, Start start) : path_(std::move(path)) {
  const int place = start == Start::append ? O_APPEND : O_EXCL;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | place, 0666);
  if (descriptor_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  unwritten_ = bytes.size() - write_all(descriptor_, bytes);
  if (unwritten_ > 0) fail(errno);
}

void OutputFile::sync_and_close() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);  // EINVAL: a pipe or device has nothing to sync
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
}

void OutputFile::fail(int reason) const {
  const std::string advice = reason == ENOSPC || reason == EDQUOT ? "; free some space"
                             : reason == EEXIST                   ? "; move whatever has that name elsewhere"
                                                                  : "";
  throw Error(ExitCode::io,
              "cannot write " + printable_path(path_) + ": " + std::generic_category().message(reason) + advice);
}

}  // namespace chargpt
