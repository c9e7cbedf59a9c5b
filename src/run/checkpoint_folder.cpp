#include "run/checkpoint_folder.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "report/format.h"
#include "run/checkpoint.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_prefix = ".tmp-";
constexpr std::string_view replaced_prefix = ".old-";  // only where the file system cannot exchange two names

std::string replaced_name(const std::string& name) {
  return std::string(replaced_prefix).append(name);
}

/// Swaps two names in one step; false where the file system does not offer that.
bool exchange(const OpenFolder& folder, const std::string& a, const std::string& b) {
  const int reason = folder.exchange(a, b);
  if (reason == EINVAL || reason == ENOSYS || reason == ENOTSUP) return false;
  if (reason != 0) fail_on("replace", folder.path() / b, reason);
  return true;
}

/// A checkpoint's folder while it is written or removed.
bool is_temporary(std::string_view entry) {
  return entry.starts_with(temporary_prefix) && checkpoint_step(entry.substr(temporary_prefix.size()));
}

/// A file of a checkpoint; a link or a folder of that name is somebody else's.
bool is_own(const OpenFolder& folder, const std::string& name) {
  return is_checkpoint_file(name) && folder.type(name) == fs::file_type::regular;
}

/// What somebody else put into a checkpoint's folder.
std::vector<std::string> foreign_entries(const std::optional<OpenFolder>& folder) {
  if (!folder) return {};
  std::vector<std::string> entries = folder->entries();
  std::erase_if(entries, [&](const std::string& entry) { return is_own(*folder, entry); });
  return entries;
}

/// All but what has a namesake there.
void move_entries(const std::vector<std::string>& entries, const OpenFolder& from, const OpenFolder& to) {
  for (const std::string& entry : entries)
    if (to.type(entry) == fs::file_type::not_found) from.move(entry, to, entry);
}

constexpr double infinite = std::numeric_limits<double>::infinity();

/// None where it cannot be read, or not now.
std::optional<RunState> readable_state(const CheckpointFolder& folder, const std::string& name) {
  try {
    const auto found = folder.find(name);
    return found ? std::optional(read_checked_state(*found)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What became of the checkpoint that `state` calls best; empty where it is there.
std::string loss_of_the_best(const CheckpointFolder& folder, const RunState& state) {
  const std::string name = checkpoint_name(state.best_step);
  if (state.best_step == state.step && evaluated_loss(state) == state.best_val_loss) return "";
  if (!folder.find(name)) return "is not there";
  const auto found = readable_state(folder, name);
  if (!found || evaluated_loss(*found) == state.best_val_loss) return "";
  return "was replaced by one of another training, with " + format_fixed(evaluated_loss(*found), 4);
}

}  // namespace

std::string temporary_name(const std::string& name) {
  return std::string(temporary_prefix).append(name);
}

CheckpointFolder::CheckpointFolder(fs::path path, std::optional<OpenFolder> folder)
    : path_(std::move(path)), folder_(std::move(folder)) {}

CheckpointFolder::CheckpointFolder(const OpenFolder& run)
    : CheckpointFolder(run.path() / "checkpoints", run.find("checkpoints")) {}

CheckpointFolder CheckpointFolder::prepared(const OpenFolder& run) {
  const fs::path path = run.path() / "checkpoints";
  const bool made = run.type("checkpoints") == fs::file_type::not_found;
  CheckpointFolder folder(path, run.make("checkpoints"));
  if (made) run.sync();
  folder.end_unfinished();
  return folder;
}

void CheckpointFolder::end_unfinished() const {
  for (const std::string& entry : folder_->entries()) {
    if (is_temporary(entry)) discard(entry);
    if (is_unfinished_file(entry)) folder_->remove_file(entry);
    if (!entry.starts_with(replaced_prefix)) continue;
    const std::string name = entry.substr(replaced_prefix.size());
    if (!checkpoint_step(name)) continue;
    is_folder(name) ? discard(entry) : rename(entry, name);
  }
}

bool CheckpointFolder::is_folder(const std::string& name) const {
  return folder_ && folder_->type(name) == fs::file_type::directory;
}

void CheckpointFolder::rename(const std::string& from, const std::string& to) const {
  if (const int reason = folder_->rename(from, to); reason != 0) fail_on("rename", path_ / from, reason);
}

std::vector<std::string> CheckpointFolder::names() const {
  std::vector<std::string> names;
  for (std::string entry : folder_ ? folder_->entries() : std::vector<std::string>()) {
    if (!is_folder(entry)) continue;
    if (entry.starts_with(replaced_prefix)) entry.erase(0, replaced_prefix.size());
    if (checkpoint_step(entry)) names.push_back(std::move(entry));
  }
  std::ranges::sort(names, {}, [](const std::string& name) { return *checkpoint_step(name); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<OpenFolder> CheckpointFolder::find(const std::string& name) const {
  if (!folder_ || !checkpoint_step(name)) return std::nullopt;
  auto found = folder_->find(name);
  return found ? std::move(found) : folder_->find(replaced_name(name));
}

void CheckpointFolder::put(const std::string& name) const {
  const std::string temporary = temporary_name(name), replaced = replaced_name(name);
  const std::optional<OpenFolder> fresh = folder_->find(temporary);
  if (folder_->type(name) == fs::file_type::symlink)
    throw Error(ExitCode::io, "cannot replace ", path_ / name, ": it is a symbolic link");
  const std::vector<std::string> came_along = foreign_entries(fresh);
  const std::optional<OpenFolder> old = folder_->find(name);
  if (!old) {
    rename(temporary, name);
  } else if (!exchange(*folder_, temporary, name)) {
    rename(name, replaced);
    rename(temporary, name);
  }
  if (old) move_entries(foreign_entries(old), *old, *fresh);
  if (came_along.empty()) return;
  move_entries(came_along, *fresh, make(name));  // what was replaced, where names could be exchanged
}

void CheckpointFolder::settle(const std::string& name) const {
  folder_->sync();
  for (const std::string& replaced : {temporary_name(name), replaced_name(name)}) discard(replaced);
}

void CheckpointFolder::remove(const std::string& name) const {
  const std::string entry = is_folder(name) ? name : replaced_name(name);
  if (!is_folder(entry) || !foreign_entries(folder_->find(entry)).empty()) return;
  // Gone at once: no reader meets half of it.
  if (folder_->rename(entry, temporary_name(name)) == 0) discard(temporary_name(name));
}

void CheckpointFolder::discard(const std::string& entry) const {
  try {
    if (!is_folder(entry)) return;
    if (const auto folder = folder_->find(entry))
      for (const std::string& name : folder->entries())
        if (is_own(*folder, name)) folder->remove_file(name);
    folder_->remove_folder(entry);
  } catch (const Error&) {  // what cannot be looked at stays
  }
}

std::optional<std::string> CheckpointFolder::read_pointer(const std::string& pointer) const {
  const fs::file_type type = folder_ ? folder_->type(pointer) : fs::file_type::not_found;
  if (type == fs::file_type::not_found) return std::nullopt;
  constexpr std::uint64_t more_than_a_name = 4096;
  try {
    std::string name = folder_->read(pointer, more_than_a_name);
    if (name.ends_with('\n')) name.pop_back();
    return checkpoint_step(name) ? name : std::string();
  } catch (const Error& error) {
    if (error.code() == ExitCode::io) throw;
    return "";
  }
}

void CheckpointFolder::remove_pointer(const std::string& pointer) const {
  const int reason = folder_ ? folder_->remove_file(pointer) : ENOENT;
  if (reason != 0 && reason != ENOENT) fail_on("remove", path_ / pointer, reason);
}

void CheckpointFolder::write_pointer(const std::string& pointer, const std::string& name) const {
  folder_->write(pointer, name + "\n");
}

double evaluated_loss(const RunState& state) {
  double loss = infinite;
  for (const double each : {state.val_loss, state.averaged_val_loss})
    if (each < loss) loss = each;  // false for a NaN
  return loss;
}

std::optional<std::string> best_of(const CheckpointFolder& folder, const RunState& state) {
  if (state.best_step <= 0 || !loss_of_the_best(folder, state).empty()) return std::nullopt;
  return checkpoint_name(state.best_step);
}

std::string why_no_best(const CheckpointFolder& folder, const RunState& state) {
  if (state.best_step <= 0) return "no best checkpoint in " + printable_path(folder.path());
  return "the best checkpoint of " + printable_path(folder.path()) + ", " + checkpoint_name(state.best_step) +
         " with a validation loss of " + format_fixed(state.best_val_loss, 4) + ", " + loss_of_the_best(folder, state);
}

std::optional<RunState> newest_state(const CheckpointFolder& folder, const std::vector<std::string>& order) {
  for (const std::string& name : order)
    if (auto state = readable_state(folder, name)) return state;
  return std::nullopt;
}

}  // namespace chargpt
