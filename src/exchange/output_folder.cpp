#include "exchange/output_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "report/files/output_file.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_mark_bytes = 1 << 16;

[[noreturn]] void refuse_occupied(const fs::path& out, const std::string& why) {
  throw Error(ExitCode::busy, out, " ", why, "; choose another place with --out");
}

bool has_mark(const OpenFolder& folder) {
  const std::string source = printable_path(folder.path() / export_mark);
  try {
    const nlohmann::json json = parse_strict_json(folder.read(export_mark, max_mark_bytes), source);
    return StrictObject(json, source).text("format") == "chargpt export";
  } catch (const Error&) {
    return false;
  }
}

/// `out` without links and without a slash at its end.
fs::path resolved(const fs::path& out) {
  std::error_code failed;
  fs::path path = fs::weakly_canonical(fs::absolute(out), failed);
  if (failed) fail_on("use", out, failed.value());
  return without_final_slash(path);
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& out, bool overwrite, const Replaces& replaces)
    : out_(resolved(out)), overwrite_(overwrite), replaces_(replaces) {
  check_there(out);
  std::error_code failed;
  fs::create_directories(out_.parent_path(), failed);
  if (failed) fail_on("make the folder", out_.parent_path(), failed.value());
  temporary_ = out_.parent_path() / (".chargpt-export-" + std::to_string(::getpid()));
  // An export that was killed may have left its folder, and in a container each process may have the same number.
  while (!fs::create_directory(temporary_, failed) && !failed) temporary_ += "+";
  if (failed) fail_on("make the folder", temporary_, failed.value());
}

/// Whether a folder holds what an export wrote, as regular files, and nothing else.
bool OutputFolder::is_export(const OpenFolder& folder) const {
  return has_mark(folder) && std::ranges::all_of(folder.entries(), [&](const std::string& entry) {
           return (entry == export_mark || std::ranges::find(replaces_.names, entry) != replaces_.names.end()) &&
                  folder.type(entry) == fs::file_type::regular;
         });
}

void OutputFolder::check_there(const fs::path& shown) const {
  const bool one_file = replaces_.is_own_file != nullptr;
  std::error_code failed;
  const fs::file_status there = fs::symlink_status(out_, failed);
  if (!fs::exists(there)) return;
  if (fs::is_directory(there) == one_file)
    refuse_occupied(shown, one_file ? "is a folder, and this format is one file" : "is no folder");
  const std::string refusal = "is not what an export of this format wrote, and --overwrite replaces only that";
  if (one_file) {
    if (!overwrite_) refuse_occupied(shown, "exists; pass --overwrite to replace what an earlier export wrote");
    if (!replaces_.is_own_file(out_)) refuse_occupied(shown, refusal);
    return;
  }
  const OpenFolder folder(out_);
  if (folder.entries().empty()) return;
  if (!overwrite_) refuse_occupied(shown, "is not empty; pass --overwrite to replace what an earlier export wrote");
  if (!is_export(folder))
    refuse_occupied(shown, "holds files that no export wrote, and --overwrite replaces exports alone");
}

/// Removes the files of an unfinished export, or of an earlier one, then their folder if it is empty.
void OutputFolder::remove_temporary() const {
  try {
    const OpenFolder folder(temporary_);
    for (const std::string& file : files_) folder.remove_file(file);
    for (const std::string_view name : replaces_.names) folder.remove_file(std::string(name));
    folder.remove_file(export_mark);
  } catch (const Error&) {  // it has been given its name
  }
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void OutputFolder::write(const std::string& name, std::string_view text) {
  write(name, [text](const ByteSink& sink) { sink(std::as_bytes(std::span(text))); });
}

void OutputFolder::write(const std::string& name, const std::function<void(const ByteSink& sink)>& write_to) {
  if (!replaces_.names.empty() && name != export_mark &&
      std::ranges::find(replaces_.names, name) == replaces_.names.end())
    throw Error(ExitCode::internal, name, " is missing from the names of the format");  // it could not be replaced
  OutputFile file(temporary_ / name, OutputFile::Start::fresh);
  if (name != export_mark) files_.push_back(name);
  write_to([&](std::span<const std::byte> bytes) {
    file.write(bytes);
    bytes_ += bytes.size();
  });
  file.sync_and_close();
}

void OutputFolder::finish() {
  if (replaces_.is_own_file != nullptr) {
    std::error_code failed;
    fs::rename(temporary_ / files_.front(), out_, failed);
    if (failed) fail_on("write", out_, failed.value());
  } else {
    put_folder();
  }
  fsync_path(out_.parent_path());
}

// A folder replaces an empty one in one step; what another export wrote is exchanged with it, and then removed.
void OutputFolder::put_folder() {
  write(export_mark, json_text({{"format", "chargpt export"}, {"version", 1}, {"files", files_}}));
  fsync_path(temporary_);
  if (::rename(temporary_.c_str(), out_.c_str()) == 0) return;
  const int reason = errno;
  if (!overwrite_ || (reason != ENOTEMPTY && reason != EEXIST) || !is_export(OpenFolder(out_)))
    fail_on("write", out_, reason);
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, out_.c_str(), RENAME_EXCHANGE) != 0)
    fail_on("replace", out_, errno);
  remove_temporary();
}

}  // namespace chargpt
