#include "base/open_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

enum class Found { this_one, another, unknown };

/// What is at `path` now, beside an open folder. A disk that does not answer says nothing.
Found look(const fs::path& path, int descriptor) {
  struct stat opened {
  }, named{};
  if (::fstat(descriptor, &opened) != 0) return Found::unknown;
  if (::stat(path.c_str(), &named) != 0) return errno == ENOENT || errno == ENOTDIR ? Found::another : Found::unknown;
  return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino ? Found::this_one : Found::another;
}

/// As short as it was given: relative where it is below the working folder.
fs::path as_people_write_it(const fs::path& path) {
  std::error_code ignored;
  const fs::path relative = path.lexically_relative(fs::current_path(ignored));
  return relative.empty() || *relative.begin() == ".." ? path : relative;
}

}  // namespace

OpenFolder::OpenFolder(fs::path path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0)
    throw Error(ExitCode::io,
                "cannot open the folder " + printable_path(path_) + ": " + std::generic_category().message(errno));
}

OpenFolder::~OpenFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

const fs::path& OpenFolder::path() {
  if (look(path_, descriptor_) != Found::another) return path_;
  std::error_code failed;
  const fs::path now = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor_), failed);
  if (failed || look(now, descriptor_) != Found::this_one)
    throw Error(ExitCode::io, "the folder " + printable_path(path_) +
                                  " is gone: it was removed, or moved to another disk, while it was in use; what was "
                                  "saved is where it was moved to");
  return path_ = as_people_write_it(now);
}

std::unique_ptr<OpenFolder> open_if_there(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? std::make_unique<OpenFolder>(path) : nullptr;
}

}  // namespace chargpt
