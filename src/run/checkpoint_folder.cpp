#include "run/checkpoint_folder.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "base/unfinished_files.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/manifest.h"
#include "run/entries.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_prefix = ".tmp-";
constexpr std::string_view replaced_prefix = ".old-";  // only where the file system cannot exchange two names

[[noreturn]] void fail(const std::string& action, const fs::path& path, const std::string& reason) {
  throw Error(ExitCode::io, "cannot " + action + " " + printable_path(path) + ": " + reason);
}

void rename_folder(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::rename(from, to, failure);
  if (failure) fail("rename", from, failure.message());
}

std::string replaced_name(const std::string& name) {
  return std::string(replaced_prefix).append(name);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// A link may lead out of the run: it is read through, but nothing is moved or removed through it.
bool is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored);
}

/// Swaps two names in one step; false where the file system does not offer that.
bool exchange(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
  fail("replace", b, std::generic_category().message(errno));
}

/// A checkpoint's folder while it is written or removed.
bool is_temporary(std::string_view entry) {
  return entry.starts_with(temporary_prefix) && checkpoint_step(entry.substr(temporary_prefix.size()));
}

/// A pointer's file on its way (".LATEST.tmp-…").
bool is_unfinished_pointer(std::string_view entry) {
  return is_unfinished_name(entry) && (entry.starts_with(".LATEST.") || entry.starts_with(".BEST."));
}

/// A file of a checkpoint; a link or a folder of that name is somebody else's.
bool is_own(const fs::path& path) {
  std::error_code ignored;
  return is_checkpoint_file(path.filename().native()) &&
         fs::symlink_status(path, ignored).type() == fs::file_type::regular;
}

/// What somebody else put into a checkpoint's folder.
std::vector<std::string> foreign_entries(const fs::path& folder) {
  std::vector<std::string> entries = entries_of(folder);
  std::erase_if(entries, [&](const std::string& entry) { return is_own(folder / entry); });
  return entries;
}

/// All but what has a namesake there.
void move_entries(const std::vector<std::string>& entries, const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  if (!entries.empty()) fs::create_directory(to, ignored);
  for (const std::string& entry : entries)
    if (!fs::exists(fs::symlink_status(to / entry, ignored))) fs::rename(from / entry, to / entry, ignored);
}

}  // namespace

std::string temporary_name(const std::string& name) {
  return std::string(temporary_prefix).append(name);
}

void CheckpointFolder::prepare() const {
  std::error_code failure;
  const bool made = fs::create_directory(path_, failure);
  if (failure) fail("make the folder", path_, failure.message());
  if (made) fsync_path(path_.parent_path());
  for (const std::string& entry : entries_of(path_)) {
    if (is_temporary(entry)) discard(entry);
    if (is_unfinished_pointer(entry)) fs::remove(path_ / entry, failure);
    if (!entry.starts_with(replaced_prefix)) continue;
    const std::string name = entry.substr(replaced_prefix.size());
    if (!checkpoint_step(name)) continue;
    if (is_folder(path_ / name))
      discard(entry);
    else
      rename_folder(path_ / entry, path_ / name);
  }
}

std::vector<std::string> CheckpointFolder::names() const {
  std::vector<std::string> names;
  for (std::string entry : entries_of(path_)) {
    if (!is_folder(path_ / entry)) continue;
    if (entry.starts_with(replaced_prefix)) entry.erase(0, replaced_prefix.size());
    if (checkpoint_step(entry)) names.push_back(std::move(entry));
  }
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return *checkpoint_step(a) < *checkpoint_step(b); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<fs::path> CheckpointFolder::find(const std::string& name) const {
  const fs::path replaced = path_ / replaced_name(name);
  if (!checkpoint_step(name)) return std::nullopt;
  if (is_folder(path_ / name)) return path_ / name;
  if (is_folder(replaced)) return replaced;
  return std::nullopt;
}

void CheckpointFolder::put(const std::string& name) const {
  const fs::path temporary = path_ / temporary_name(name), target = path_ / name;
  if (is_link(target)) fail("replace", target, "it is a symbolic link");
  const std::vector<std::string> came_along = foreign_entries(temporary);
  if (!is_folder(target)) {
    rename_folder(temporary, target);
  } else if (exchange(temporary, target)) {
    move_entries(foreign_entries(temporary), temporary, target);
  } else {
    const fs::path replaced = path_ / replaced_name(name);
    rename_folder(target, replaced);
    rename_folder(temporary, target);
    move_entries(foreign_entries(replaced), replaced, target);
  }
  move_entries(came_along, target, temporary);
}

void CheckpointFolder::settle(const std::string& name) const {
  fsync_path(path_);
  for (const std::string& replaced : {temporary_name(name), replaced_name(name)}) discard(replaced);
}

void CheckpointFolder::remove(const std::string& name) const {
  const auto path = find(name);
  if (!path || is_link(*path) || !foreign_entries(*path).empty()) return;
  std::error_code failure;
  fs::rename(*path, path_ / temporary_name(name), failure);  // gone at once: no reader meets half of it
  if (!failure) discard(temporary_name(name));
}

void CheckpointFolder::discard(const std::string& entry) const {
  std::error_code ignored;
  const fs::path folder = path_ / entry;
  if (!is_folder(folder) || is_link(folder)) return;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    std::error_code failure;
    if (is_own(at->path())) fs::remove(at->path(), failure);
  }
  fs::remove(folder, ignored);
}

std::optional<std::string> CheckpointFolder::read_pointer(const std::string& pointer) const {
  const fs::path path = path_ / pointer;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  if (!fs::is_regular_file(path, ignored)) return "";
  constexpr std::uint64_t more_than_a_name = 4096;
  std::string name = fs::file_size(path, ignored) > more_than_a_name ? "" : read_regular_file(path, more_than_a_name);
  if (name.ends_with('\n')) name.pop_back();
  return checkpoint_step(name) ? name : std::string();
}

void CheckpointFolder::remove_pointer(const std::string& pointer) const {
  std::error_code failure;
  fs::remove(path_ / pointer, failure);
  if (failure) fail("remove", path_ / pointer, failure.message());
}

void CheckpointFolder::write_pointer(const std::string& pointer, const std::string& name) const {
  write_file_atomically(path_ / pointer, name + "\n");
}

}  // namespace chargpt
