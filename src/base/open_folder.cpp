#include "base/open_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr int as_folder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// For the system; names that come from a disk may say anything.
const char* checked(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw Error(ExitCode::data, "'", printable(name), "' is not the name of a file");
  return name.c_str();
}

int reason_of(int result) {
  return result == 0 ? 0 : errno;
}

}  // namespace

OpenFolder::OpenFolder(fs::path path) : path_(std::move(path)), folder_(::open(path_.c_str(), as_folder)) {
  if (folder_.number() < 0) fail_on("open the folder", path_, errno);
}

void OpenFolder::check() const {
  if (!is_at_path())
    throw Error(ExitCode::io, "the folder ", path_,
                " was renamed or removed while it was in use, so nothing more is saved in it; if it was renamed, "
                "resume it under its new name");
}

std::optional<OpenFolder> OpenFolder::find(const std::string& name) const {
  Descriptor folder(::openat(descriptor(), checked(name), as_folder | O_NOFOLLOW));
  if (folder.number() >= 0) return OpenFolder(path_ / name, std::move(folder));
  const int reason = errno;
  if (reason == ENOENT) return std::nullopt;
  if (reason != ENOTDIR && reason != ELOOP) fail_on("open the folder", path_ / name, reason);
  if (type(name) != fs::file_type::symlink) return std::nullopt;
  throw Error(ExitCode::data, path_ / name,
              " is a symbolic link, and links inside a run are not followed; put the folder itself there");
}

OpenFolder OpenFolder::make(const std::string& name) const {
  if (::mkdirat(descriptor(), checked(name), 0777) != 0 && errno != EEXIST)
    fail_on("make the folder", path_ / name, errno);
  if (type(name) == fs::file_type::symlink)
    throw Error(ExitCode::io, "cannot make the folder ", path_ / name,
                ": a symbolic link has that name, and links inside a run are not followed; remove it");
  auto folder = find(name);
  if (!folder) fail_on("make the folder", path_ / name, EEXIST);
  return std::move(*folder);
}

std::vector<std::string> OpenFolder::entries() const {
  const int number = ::openat(descriptor(), ".", as_folder);
  DIR* const listing = number < 0 ? nullptr : ::fdopendir(number);
  if (listing == nullptr) {
    const Descriptor closed(number);
    fail_on("list", path_, errno);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> closing(listing, ::closedir);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  if (errno != 0) fail_on("list", path_, errno);
  std::sort(names.begin(), names.end());
  return names;
}

fs::file_type OpenFolder::type(const std::string& name) const {
  struct stat status {};
  if (::fstatat(descriptor(), checked(name), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return fs::file_type::not_found;
    fail_on("read", path_ / name, errno);
  }
  if (S_ISREG(status.st_mode)) return fs::file_type::regular;
  if (S_ISDIR(status.st_mode)) return fs::file_type::directory;
  return S_ISLNK(status.st_mode) ? fs::file_type::symlink : fs::file_type::unknown;
}

Descriptor OpenFolder::open(const std::string& name) const {
  return open_regular_file(descriptor(), checked(name), path_ / name);
}

std::string OpenFolder::read(const std::string& name, std::uint64_t max_bytes) const {
  return read_open_file(open(name), max_bytes, path_ / name);
}

void OpenFolder::write(const std::string& name, std::string_view bytes) const {
  write_file_atomically(descriptor(), checked(name), bytes, path_ / name);
}

Descriptor OpenFolder::create(const std::string& name) const {
  return Descriptor(::openat(descriptor(), checked(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
}

int OpenFolder::move(const std::string& from, const OpenFolder& folder, const std::string& to) const {
  return reason_of(::renameat(descriptor(), checked(from), folder.descriptor(), checked(to)));
}

int OpenFolder::exchange(const std::string& one, const std::string& other) const {
  return reason_of(::renameat2(descriptor(), checked(one), descriptor(), checked(other), RENAME_EXCHANGE));
}

int OpenFolder::remove_file(const std::string& name) const {
  return reason_of(::unlinkat(descriptor(), checked(name), 0));
}

int OpenFolder::remove_folder(const std::string& name) const {
  return reason_of(::unlinkat(descriptor(), checked(name), AT_REMOVEDIR));
}

void OpenFolder::sync() const {
  fsync_folder(descriptor(), path_);
}

std::unique_ptr<OpenFolder> open_if_there(const fs::path& path) {
  Descriptor folder(::open(path.c_str(), as_folder));
  if (folder.number() >= 0) return std::unique_ptr<OpenFolder>(new OpenFolder(path, std::move(folder)));
  if (errno == ENOENT || errno == ENOTDIR) return nullptr;
  fail_on("open the folder", path, errno);
}

std::vector<std::string> entries_of(const fs::path& path) {
  const auto folder = open_if_there(path);
  return folder ? folder->entries() : std::vector<std::string>();
}

}  // namespace chargpt
