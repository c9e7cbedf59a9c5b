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
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "report/output_file.h"
#include "run/entries.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_mark_bytes = 1 << 16;

[[noreturn]] void fail(const std::string& action, const fs::path& path, const std::error_code& reason) {
  throw Error(ExitCode::io, "cannot " + action + " " + printable_path(path) + ": " + reason.message());
}

[[noreturn]] void refuse_occupied(const fs::path& out, const std::string& why) {
  throw Error(ExitCode::busy, printable_path(out) + " " + why + "; choose another place with --out");
}

/// The files that an export wrote there, its mark first; empty where none did.
std::vector<std::string> files_of_export(const fs::path& folder) {
  const std::string source = printable_path(folder / export_mark);
  std::vector<std::string> files{export_mark};
  try {
    const nlohmann::json json = parse_strict_json(read_regular_file(folder / export_mark, max_mark_bytes), source);
    if (StrictObject(json, source).text("format") != "chargpt export") return {};
    for (const nlohmann::json& name : StrictObject(json, source).field("files"))
      files.push_back(name.is_string() ? name.get<std::string>() : "");
  } catch (const Error&) {
    return {};
  }
  return files;
}

/// Whether a folder holds what an export wrote, as regular files, and nothing else.
bool is_export(const fs::path& folder) {
  const std::vector<std::string> files = files_of_export(folder);
  return std::ranges::all_of(entries_of(folder), [&](const std::string& entry) {
    std::error_code ignored;
    return std::ranges::find(files, entry) != files.end() && fs::is_regular_file(fs::symlink_status(folder / entry));
  });
}

void check_folder(const fs::path& out, bool overwrite) {
  const std::vector<std::string> entries = entries_of(out);
  if (entries.empty()) return;
  if (!overwrite)
    refuse_occupied(out, "holds " + printable(entries.front()) + (entries.size() > 1 ? " and more" : "") +
                             ", and --overwrite, which replaces what an earlier export wrote, was not given");
  if (!is_export(out)) refuse_occupied(out, "holds files that no export wrote, and --overwrite replaces only those");
}

void check_file(const fs::path& out, bool overwrite, std::string_view magic) {
  if (!overwrite) refuse_occupied(out, "exists, and --overwrite was not given");
  if (!read_stretch(out, 0, magic.size()).bytes.starts_with(magic))
    refuse_occupied(out, "is no file that an export wrote, and --overwrite replaces only those");
}

/// `out` without links and without a slash at its end.
fs::path resolved(const fs::path& out) {
  std::error_code failed;
  fs::path path = fs::weakly_canonical(fs::absolute(out), failed);
  if (failed) fail("use", out, failed);
  return path.has_filename() ? path : path.parent_path();
}

void remove_export(const fs::path& folder) {
  std::error_code ignored;
  for (const std::string& file : files_of_export(folder)) fs::remove(folder / file, ignored);
  fs::remove(folder, ignored);
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& out, bool one_file, bool overwrite, std::string_view magic)
    : out_(resolved(out)), one_file_(one_file), overwrite_(overwrite) {
  std::error_code failed;
  const fs::file_status there = fs::symlink_status(out_, failed);
  if (fs::exists(there) && fs::is_directory(there) == one_file)
    refuse_occupied(out, one_file ? "is a folder, and this format is one file" : "is no folder");
  if (fs::exists(there)) one_file ? check_file(out_, overwrite, magic) : check_folder(out_, overwrite);
  fs::create_directories(out_.parent_path(), failed);
  if (failed) fail("make the folder", out_.parent_path(), failed);
  temporary_ = out_.parent_path() / ("." + out_.filename().string() + ".tmp-" + std::to_string(::getpid()));
  fs::create_directory(temporary_, failed);
  if (failed) fail("make the folder", temporary_, failed);
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  for (const std::string& file : files_) fs::remove(temporary_ / file, ignored);
  fs::remove(temporary_ / export_mark, ignored);
  fs::remove(temporary_, ignored);
}

void OutputFolder::write(const std::string& name, std::string_view text) {
  write(name, [text](const ByteSink& sink) { sink(std::as_bytes(std::span(text))); });
}

void OutputFolder::write(const std::string& name, const std::function<void(const ByteSink& sink)>& write_to) {
  OutputFile file(temporary_ / name, OutputFile::Start::fresh);
  if (name != export_mark) files_.push_back(name);
  write_to([&](std::span<const std::byte> bytes) {
    file.write(bytes);
    bytes_ += bytes.size();
  });
  file.sync_and_close();
}

void OutputFolder::finish() {
  one_file_ ? put_file() : put_folder();
  fsync_path(out_.parent_path());
}

void OutputFolder::put_file() {
  std::error_code failed;
  if (files_.size() != 1) throw Error(ExitCode::internal, "an export of one file has " + std::to_string(files_.size()));
  fs::rename(temporary_ / files_.front(), out_, failed);
  if (failed) fail("write", out_, failed);
}

// A folder replaces an empty one in one step; what another export wrote is exchanged with it, and then removed.
void OutputFolder::put_folder() {
  write(export_mark,
        nlohmann::ordered_json{{"format", "chargpt export"}, {"version", 1}, {"files", files_}}.dump(2) + "\n");
  fsync_path(temporary_);
  if (::rename(temporary_.c_str(), out_.c_str()) == 0) return;
  const int reason = errno;
  if (!overwrite_ || (reason != ENOTEMPTY && reason != EEXIST) || !is_export(out_))
    fail("write", out_, {reason, std::generic_category()});
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, out_.c_str(), RENAME_EXCHANGE) != 0)
    fail("replace", out_, {errno, std::generic_category()});
  remove_export(temporary_);
}

}  // namespace chargpt
