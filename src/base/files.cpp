#include "base/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <regex>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"

namespace chargpt {
namespace {

/// What the user can do about the failure; "" if the system's reason says enough.
std::string advice_for(const std::string& action, int reason) {
  if (reason == ENOSPC || reason == EDQUOT) return "; free some space, or choose another folder";
  if (reason == EACCES || reason == EPERM || reason == EROFS)
    return action == "read" ? "; check its permissions" : "; check its permissions, or choose another folder";
  if (action == "write" && (reason == ENOENT || reason == ENOTDIR)) return "; make its folder first";
  if (reason == ENOMEM) return "; free some memory, or raise the limit (ulimit -v)";
  if (reason == EMFILE || reason == ENFILE) return "; raise the limit of open files (ulimit -n)";
  return "";
}

[[noreturn]] void refuse_kind(const std::filesystem::path& path) {
  throw Error(ExitCode::data, path, " is not a regular file");
}

[[noreturn]] void fail_to_open(const std::filesystem::path& path, int reason) {
  if (reason == ENXIO) refuse_kind(path);  // a socket, or a device without a driver
  fail_on("read", path, reason);
}

struct stat status_of(const Descriptor& file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail_on("read", path, errno);
  return status;
}

/// Creates an empty file under a new name, which it stores in `name`. The name is short, so that it fits where a long
/// final name would not; is_unfinished_file() recognises it. O_EXCL never opens an existing file or link.
Descriptor open_temporary(const Descriptor& folder, std::string& name, const std::filesystem::path& meant) {
  static std::atomic<unsigned> count{0};
  while (true) {
    name = ".chargpt-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".partial";
    Descriptor file(::openat(folder.number(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.number() >= 0) return file;
    if (errno != EEXIST) fail_on("write", meant, errno);
  }
}

void sync_descriptor(const Descriptor& file, const std::filesystem::path& path) {
  // EINVAL: the file system cannot sync this kind of object (folders on some network mounts); nothing more can be done.
  if (::fsync(file.number()) != 0 && errno != EINVAL) fail_on("save", path, errno);
}

/// Waits for bytes to read or the end of the file; false if neither came in that time. Milliseconds -1: no limit.
bool is_ready(const Descriptor& file, int milliseconds) {
  struct pollfd waiting = {.fd = file.number(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, milliseconds) > 0;
}

using namespace std::literals;

constexpr auto unpack = "unpack it to plain text"sv;
constexpr auto convert = "convert it to plain text"sv;
constexpr auto convert_utf = "convert it to UTF-8 (iconv)"sv;
constexpr auto replace = "use a plain text instead"sv;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  FileKind kind;
};

// Sources: the formats' specifications, as file(1) lists them in its magic files. A safetensors file begins with 8
// bytes of header size, the highest of which is 0, followed by JSON.
constexpr Signature signatures[] = {
    {0, "\x1F\x8B"sv, {"a gzip archive", unpack}},
    {0, "\x28\xB5\x2F\xFD"sv, {"a Zstandard archive", unpack}},
    {0, "PK\3\4"sv, {"a ZIP archive or an Office document", convert}},
    {0, "%PDF-"sv, {"a PDF document", convert}},
    {0, "{\\rtf"sv, {"an RTF document", convert}},
    {0, "<!DOCTYPE html"sv, {"an HTML document", convert}},
    {0, "<!doctype html"sv, {"an HTML document", convert}},
    {0, "\xFF\xFE\0\0"sv, {"UTF-32", convert_utf}},
    {0, "\0\0\xFE\xFF"sv, {"UTF-32", convert_utf}},
    {0, "\xFF\xFE"sv, {"UTF-16", convert_utf}},
    {0, "\xFE\xFF"sv, {"UTF-16", convert_utf}},
    {0, "\x89PNG\r\n\x1A\n"sv, {"a PNG picture", replace}},
    {7, "\0{\""sv, {"a safetensors file", replace}},
};

/// The type of what a path leads to; none if the system does not tell. Error io: a failing disk is not a missing file.
fs::file_type type_behind(const fs::path& path) {
  std::error_code failed;
  const fs::file_type type = fs::status(path, failed).type();
  if (failed == std::errc::io_error) fail_on("read", path, failed.value());
  return failed == std::errc::filename_too_long ? fs::file_type::not_found : type;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

bool Descriptor::close() {
  return ::close(std::exchange(number_, -1)) == 0;
}

// O_NONBLOCK: opening a pipe must not wait for its writer.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes, const std::string& reason,
                      const Heartbeat& heartbeat) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) fail_to_open(path, errno);
  if (S_ISDIR(status_of(file, path).st_mode))
    throw Error(ExitCode::io, "cannot read ", path, ": it is a folder; name a file");
  return read_to_end(file, path, max_bytes, reason, heartbeat);
}

// O_NONBLOCK: opening a pipe would otherwise wait for a writer before its type could be checked.
Descriptor open_regular_file(const std::filesystem::path& path, Links links) {
  const int no_link = links == Links::refuse ? O_NOFOLLOW : 0;
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | no_link));
  struct stat named {};
  if (file.number() < 0 && errno == ELOOP && no_link != 0 && ::lstat(path.c_str(), &named) == 0 &&
      S_ISLNK(named.st_mode))
    refuse_kind(path);
  if (file.number() < 0) fail_to_open(path, errno);
  const struct stat status = status_of(file, path);
  if (!S_ISREG(status.st_mode)) refuse_kind(path);
  return file;
}

std::uint64_t file_size(const Descriptor& file, const std::filesystem::path& shown) {
  return static_cast<std::uint64_t>(status_of(file, shown).st_size);
}

std::size_t read_some(const Descriptor& file, std::span<char> buffer, const std::filesystem::path& shown) {
  while (true) {
    const ssize_t count = ::read(file.number(), buffer.data(), buffer.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EAGAIN)
      is_ready(file, /*milliseconds=*/-1);
    else if (errno != EINTR)
      fail_on("read", shown, errno);
  }
}

std::size_t read_fully(const Descriptor& file, std::span<char> buffer, const std::filesystem::path& shown) {
  std::size_t done = 0;
  while (const std::size_t count = read_some(file, buffer.subspan(done), shown)) done += count;
  return done;
}

Descriptor open_folder(const std::filesystem::path& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() < 0) fail_on("open the folder", path, errno);
  return folder;
}

bool is_at(const std::filesystem::path& path, const Descriptor& opened) {
  struct stat own {
  }, named{};
  if (::fstat(opened.number(), &own) != 0) return true;
  if (::stat(path.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
  return own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

// Reads in pieces, because a reported size may be wrong (pipes, growing files, /proc). It only reserves memory, at most
// 4 GB, because a sparse file can claim any size.
std::string read_to_end(const Descriptor& file, const std::filesystem::path& shown, std::uint64_t max_bytes,
                        const std::string& reason, const Heartbeat& heartbeat) {
  const std::uint64_t expected = file_size(file, shown);
  std::string bytes;
  bytes.reserve(std::min({expected, max_bytes, std::uint64_t{4} << 30}));
  std::array<char, 1 << 16> piece;
  for (bool ended = false; !ended;) {
    const bool ready = is_ready(file, /*milliseconds=*/100);
    const std::size_t count = ready ? read_some(file, piece, shown) : 0;
    ended = ready && count == 0;
    if (count > max_bytes - bytes.size())
      throw Error(ExitCode::data, shown, " is larger than ", max_bytes, " bytes, ", reason);
    bytes.append(piece.data(), count);
    beat(heartbeat, static_cast<std::int64_t>(std::min(bytes.size(), expected)),
         static_cast<std::int64_t>(std::max<std::uint64_t>(expected, 1)));
  }
  return bytes;
}

std::string read_regular_file(const std::filesystem::path& path, std::uint64_t max_bytes, Links links) {
  return read_to_end(open_regular_file(path, links), path, max_bytes);
}

FileStretch read_stretch(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t most, Links links) {
  const Descriptor file = open_regular_file(path, links);
  const struct stat status = status_of(file, path);
  FileStretch stretch{.identity = status.st_ino, .size = static_cast<std::uint64_t>(status.st_size), .bytes = {}};
  if (offset >= stretch.size) return stretch;
  if (::lseek(file.number(), static_cast<off_t>(offset), SEEK_SET) < 0) fail_on("read", path, errno);
  stretch.bytes.resize(std::min(most, stretch.size - offset));
  stretch.bytes.resize(read_fully(file, stretch.bytes, path));
  return stretch;
}

// Works inside the opened folder: if another folder takes its name meanwhile, that one gets nothing.
void write_file_atomically(const std::filesystem::path& path, const std::function<void(const ByteSink&)>& write) {
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() < 0) fail_on("write", path, errno);
  std::string temporary;
  Descriptor file = open_temporary(folder, temporary, path);
  try {
    write([&](std::span<const std::byte> bytes) {
      if (write_all(file.number(), bytes) < bytes.size()) fail_on("write", path, errno);
    });
    if (::fsync(file.number()) != 0 || !file.close()) fail_on("write", path, errno);
    if (::renameat(folder.number(), temporary.c_str(), folder.number(), path.filename().c_str()) != 0)
      fail_on("replace", path, errno);
  } catch (...) {
    ::unlinkat(folder.number(), temporary.c_str(), 0);
    throw;
  }
  sync_descriptor(folder, folder_of(path));
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  write_file_atomically(path, [&](const ByteSink& sink) { sink(std::as_bytes(std::span(bytes))); });
}

std::size_t write_all(int descriptor, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto rest = bytes.subspan(done);
    const ssize_t count = ::write(descriptor, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void fsync_path(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail_on("save", path, errno);
  sync_descriptor(file, path);
}

void fail_on(const std::string& action, const std::filesystem::path& path, int reason) {
  if (action == "read" && (reason == ENOENT || reason == ENOTDIR))
    throw Error(ExitCode::missing, path, " does not exist");
  throw Error(reason == ENOMEM ? ExitCode::memory : ExitCode::io, "cannot ", action, " ", path, ": ",
              std::generic_category().message(reason), advice_for(action, reason));
}

bool is_there(const fs::path& path) {
  return type_behind(path) != fs::file_type::not_found;
}

bool is_file(const fs::path& path) {
  return type_behind(path) == fs::file_type::regular;
}

bool is_folder(const fs::path& path) {
  return type_behind(path) == fs::file_type::directory;
}

fs::file_type type_at(const fs::path& path) {
  std::error_code failed;
  const fs::file_type type = fs::symlink_status(path, failed).type();
  if (type == fs::file_type::none) fail_on("read", path, failed.value());
  return type;
}

std::vector<std::string> entries_of(const fs::path& path) {
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed))
    names.push_back(at->path().filename().string());
  const bool is_absent = failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
  if (failed && !is_absent) fail_on("list", path, failed.value());
  std::ranges::sort(names);
  return names;
}

bool make_folder(const fs::path& path) {
  std::error_code failed;
  const bool made = fs::create_directory(path, failed);
  if (failed) fail_on("make the folder", path, failed.value());
  return made;
}

std::string nearest_entry(const fs::path& missing) {
  const fs::path folder = missing.parent_path();
  std::vector<std::string> names;
  try {
    names = entries_of(folder.empty() ? "." : folder);
  } catch (const Error&) {  // no suggestion from a folder that cannot be listed
  }
  const auto nearest = nearest_name(missing.filename().string(), names);
  return nearest ? "; did you mean " + printable_path(folder / *nearest) + "?" : "";
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path without_final_slash(const fs::path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

std::string name_of_path(const fs::path& path) {
  const fs::path name = without_final_slash(path).filename();
  if (!name.empty() && name != "." && name != "..") return name.string();
  std::error_code failed;
  return fs::weakly_canonical(path.empty() ? "." : path, failed).filename().string();
}

std::vector<std::string> names_of_paths(std::vector<std::string> paths) {
  for (std::string& path : paths) path = name_of_path(path);
  return paths;
}

bool is_unfinished_file(std::string_view name) {
  static const std::regex form(R"(\.chargpt-\d+-\d+\.partial)");
  return std::regex_match(name.begin(), name.end(), form);
}

std::optional<FileKind> kind_of_file(std::string_view first_bytes) {
  const auto found = std::ranges::find_if(signatures, [&](const Signature& signature) {
    return first_bytes.size() > signature.offset && first_bytes.substr(signature.offset).starts_with(signature.bytes);
  });
  return found == std::end(signatures) ? std::nullopt : std::optional(found->kind);
}

}  // namespace chargpt
