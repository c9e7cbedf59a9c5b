#include "checkpoint/folders.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view step_prefix = "step-";
constexpr std::string_view temporary_prefix = ".tmp-";
constexpr std::string_view replaced_prefix = ".old-";  // only where the file system cannot exchange two names

[[noreturn]] void fail(const std::string& action, const fs::path& path, const std::string& reason) {
  throw Error(ExitCode::io, "cannot " + action + " " + printable(path.native(), 400) + ": " + reason);
}

void rename_folder(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::rename(from, to, failure);
  if (failure) fail("rename", from, failure.message());
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Swaps two names in one step; false where the file system does not offer that.
bool exchange(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
  fail("replace", b, std::generic_category().message(errno));
}

std::vector<std::string> entries_of(const fs::path& folder) {
  std::vector<std::string> entries;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    entries.push_back(at->path().filename().string());
  if (failure && failure != std::errc::no_such_file_or_directory && failure != std::errc::not_a_directory)
    fail("list", folder, failure.message());
  return entries;
}

/// A folder of ours, or a pointer's file on its way (".LATEST.tmp-…").
bool is_temporary(const std::string& entry) {
  return entry.starts_with('.') && entry.find(temporary_prefix) != std::string::npos;
}

void remove_tree(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  std::array<char, 40> name{};
  std::snprintf(name.data(), name.size(), "step-%08" PRId64, step);
  return name.data();
}

std::optional<std::int64_t> checkpoint_step(std::string_view name) {
  if (!name.starts_with(step_prefix)) return std::nullopt;
  const std::string_view digits = name.substr(step_prefix.size());
  std::int64_t step = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (failure != std::errc() || checkpoint_name(step) != name) return std::nullopt;
  return step >= 0 ? std::optional(step) : std::nullopt;
}

std::string temporary_name(const std::string& name) {
  return std::string(temporary_prefix).append(name);
}

void CheckpointFolder::prepare() const {
  std::error_code failure;
  const bool made = fs::create_directories(path_, failure);
  if (failure) fail("make the folder", path_, failure.message());
  if (made) fsync_path(path_.parent_path());
  for (const std::string& entry : entries_of(path_)) {
    if (is_temporary(entry)) remove_tree(path_ / entry);
    if (!entry.starts_with(replaced_prefix)) continue;
    const std::string name = entry.substr(replaced_prefix.size());
    if (!checkpoint_step(name)) continue;
    if (is_folder(path_ / name))
      remove_tree(path_ / entry);
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
  const fs::path replaced = path_ / std::string(replaced_prefix).append(name);
  if (!checkpoint_step(name)) return std::nullopt;
  if (is_folder(path_ / name)) return path_ / name;
  if (is_folder(replaced)) return replaced;
  return std::nullopt;
}

fs::path CheckpointFolder::put(const std::string& name) const {
  const fs::path temporary = path_ / temporary_name(name), target = path_ / name;
  const fs::path replaced = path_ / std::string(replaced_prefix).append(name);
  if (!is_folder(target)) {
    rename_folder(temporary, target);
  } else if (exchange(temporary, target)) {
    remove_tree(temporary);
  } else {
    rename_folder(target, replaced);
    rename_folder(temporary, target);
    remove_tree(replaced);
  }
  fsync_path(path_);
  return target;
}

void CheckpointFolder::remove(const std::string& name) const {
  const auto path = find(name);
  if (!path) return;
  std::error_code failure;
  const fs::path temporary = path_ / temporary_name(name);
  fs::rename(*path, temporary, failure);  // gone at once: no reader meets half of it
  if (!failure) remove_tree(temporary);
}

std::optional<std::string> CheckpointFolder::read_pointer(const std::string& pointer) const {
  const fs::path path = path_ / pointer;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  constexpr std::uint64_t more_than_a_name = 4096;
  std::string name = fs::file_size(path, ignored) > more_than_a_name ? "" : read_file(path, more_than_a_name);
  if (name.ends_with('\n')) name.pop_back();
  return checkpoint_step(name) ? name : std::string();
}

void CheckpointFolder::write_pointer(const std::string& pointer, const std::string& name) const {
  write_file_atomically(path_ / pointer, name + "\n");
}

}  // namespace chargpt
