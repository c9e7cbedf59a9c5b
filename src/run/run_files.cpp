#include "run/run_files.h"

#include <algorithm>
#include <array>
#include <span>
#include <system_error>

#include "base/digits.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "base/unfinished_files.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/manifest.h"
#include "checkpoint/strict_json.h"
#include "run/checkpoint_folder.h"
#include "run/entries.h"
#include "text/text_place.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr int current_version = 1;
constexpr const char* lock_name = ".lock";
constexpr const char* mark_text = "{\"format\": \"chargpt run\", \"version\": 1}\n";
constexpr std::uint64_t longest_mark = 4096;

[[noreturn]] void fail(const std::string& action, const fs::path& path, const std::error_code& reason) {
  throw Error(ExitCode::io, "cannot " + action + " " + printable_path(path) + ": " + reason.message());
}

/// Of the path itself: a link is a link.
fs::file_type type_of(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type();
}

bool is_file(const fs::path& path) {
  return type_of(path) == fs::file_type::regular;
}

/// Takes a prefix and an end away; false where the name has not both.
bool strip(std::string_view& name, std::string_view prefix, std::string_view end) {
  if (!name.starts_with(prefix) || !name.ends_with(end) || name.size() < prefix.size() + end.size()) return false;
  name = name.substr(prefix.size(), name.size() - prefix.size() - end.size());
  return true;
}

/// What follows the last dot; all of it where there is none.
std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

/// "events.out.tfevents.SECONDS.HOST.chargpt", and ".2", … where that was taken. Earlier versions left ".chargpt" out:
/// of their names those are told apart that other writers end with ".PROCESS.NUMBER" or ".v2".
bool is_event_file(std::string_view name) {
  if (!strip(name, "events.out.tfevents.", "")) return false;
  const std::size_t seconds = name.find('.');
  if (seconds == std::string_view::npos || !is_number(name.substr(0, seconds))) return false;
  name = name.substr(seconds + 1);
  if (const std::string_view last = last_part(name); is_number(last) && last.size() < name.size())
    name = name.substr(0, name.size() - last.size() - 1);
  return !name.empty() && !is_number(last_part(name)) && last_part(name) != "v2";
}

/// The ids of a long text, finished or not, which earlier versions kept in the run.
bool is_own_id_cache(std::string_view name) {
  constexpr std::string_view infix = ".tmp-";
  const std::size_t end = name.rfind(infix);
  if (end != std::string_view::npos && !is_number(name.substr(end + infix.size()))) return false;
  name = name.substr(0, end);
  return strip(name, "ids-", ".bin") && name.size() == 16 &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_sample(std::string_view name) {
  return strip(name, "", ".txt") && checkpoint_step(name);
}

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether it is the name of a checkpoint's folder: finished, being written or removed, being replaced.
bool is_checkpoint(std::string_view name) {
  for (const std::string_view prefix : {"step-", ".tmp-step-", ".old-step-"})
    if (std::string_view digits = name; strip(digits, prefix, ""))
      return checkpoint_step("step-" + std::string(digits)).has_value();
  return false;
}

/// Parts of a run, by what may be in them.
enum class Part { run, samples, checkpoints, checkpoint };

/// Whether files of that name are written there, under a temporary name first.
bool is_written_whole(Part part, std::string_view name) {
  constexpr std::array of_run{run_mark,          "config.json",    "metrics.jsonl", "figures.json", "text.json",
                              "val_losses.json", "val_losses.f32", "page.html",     kept_text_name};
  constexpr std::array pointers{"LATEST", "BEST"};
  if (part == Part::run) return is_among(of_run, name);
  if (part == Part::samples) return is_sample(name);
  return part == Part::checkpoints && is_among(pointers, name);
}

bool is_own_file(Part part, std::string_view name) {
  constexpr std::array of_checkpoint{model_file,      optimizer_file, averaged_file, state_file,
                                     vocabulary_file, config_file,    manifest_file};
  if (part == Part::checkpoint) return is_among(of_checkpoint, name);
  if (part == Part::run && (name == lock_name || is_event_file(name) || is_own_id_cache(name))) return true;
  const std::optional<std::string> unfinished = unfinished_file_of(name);
  return is_written_whole(part, unfinished ? *unfinished : name);
}

/// A folder of ours, as the part it is.
std::optional<Part> own_folder(Part part, std::string_view name) {
  if (part == Part::run && name == "samples") return Part::samples;
  if (part == Part::run && name == "checkpoints") return Part::checkpoints;
  if (part == Part::checkpoints && is_checkpoint(name)) return Part::checkpoint;
  return std::nullopt;
}

/// Whether `read` finds a file of ours, of a newer program too. Errors: io.
template <class Read>
bool is_ours(const Read& read) {
  try {
    return read();
  } catch (const NewerFormat&) {
    return true;
  } catch (const Error& error) {
    if (error.code() == ExitCode::io) throw;
    return false;
  }
}

/// Whether the mark is there, and is one: run.json may be the name of another program's file too.
bool is_marked(const fs::path& folder) {
  const fs::path path = folder / run_mark;
  return is_file(path) && is_ours([&path] {
           const std::string source = printable_path(path);
           const nlohmann::json json = parse_strict_json(read_file(path, longest_mark), source);
           const StrictObject object(json, source);
           if (object.text("format") != "chargpt run") return false;
           object.version("run format", current_version);
           return true;
         });
}

void add_files(RunFiles& files, const fs::path& run, const fs::path& within, Part part) {
  for (const std::string& name : entries_of(run / within)) {
    const fs::path path = within / name;
    const fs::file_type type = type_of(run / path);  // looked at once: who saves there may change it
    if (type == fs::file_type::not_found) continue;  // gone since it was listed
    const std::optional<Part> folder = own_folder(part, name);
    const bool has_own_name = is_own_file(part, name);
    const bool is_own = has_own_name && type == fs::file_type::regular && (path != run_mark || is_marked(run));
    if (folder && type == fs::file_type::directory) {
      add_files(files, run, path, *folder);
      files.own.push_back(path);
    } else if (is_own) {
      if (path != run_mark && path != lock_name) files.own.push_back(path);
    } else {
      files.foreign.push_back(path);
      if (folder || has_own_name) files.replaced.push_back(path);
    }
  }
}

bool has_manifest(const fs::path& checkpoint) {
  return is_ours([&checkpoint] {
    read_manifest(checkpoint);
    return true;
  });
}

/// Nothing but a process's number, as RunLock writes it, or nothing yet.
bool is_lock(const fs::path& path) {
  constexpr std::uintmax_t longest_number = 16;
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(path, failed);
  return is_file(path) && !failed && size <= longest_number && (size == 0 || is_number(read_file(path)));
}

/// What was written of a mark.
bool is_unfinished_mark(const fs::path& path) {
  if (unfinished_file_of(path.filename().native()) != run_mark || !is_file(path)) return false;
  std::error_code failed;
  const std::string_view whole = mark_text;
  return fs::file_size(path, failed) <= whole.size() && !failed && whole.starts_with(read_file(path));
}

/// What a start that is under way, or was broken off, has in its folder before it is marked.
bool is_of_a_start(const fs::path& path) {
  try {
    if ((path.filename() == lock_name && is_lock(path)) || is_unfinished_mark(path)) return true;
  } catch (const Error&) {
    if (type_of(path) != fs::file_type::not_found) throw;
  }
  return type_of(path) == fs::file_type::not_found;  // gone since it was listed
}

void remove_own(const fs::path& path) {
  std::error_code failed;
  if (!fs::remove(path, failed) && failed && failed != std::errc::directory_not_empty) fail("remove", path, failed);
}

}  // namespace

bool is_run(const fs::path& folder) {
  if (is_marked(folder)) return true;
  const fs::path checkpoints = folder / "checkpoints";
  std::error_code ignored;
  if (!fs::is_directory(checkpoints, ignored)) return false;
  const std::vector<std::string> names = entries_of(checkpoints);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return is_checkpoint(name) && fs::is_directory(checkpoints / name, ignored) && has_manifest(checkpoints / name);
  });
}

void mark_run(const fs::path& run) {
  if (!is_marked(run)) write_file_atomically(run / run_mark, mark_text);
}

void refuse_strangers(const fs::path& folder, const std::string& option) {
  if (is_file(folder)) fail("list", folder, std::make_error_code(std::errc::not_a_directory));
  std::vector<fs::path> strangers;
  for (const std::string& name : entries_of(folder))
    if (!is_of_a_start(folder / name)) strangers.push_back(name);
  if (!strangers.empty() && !is_run(folder))
    throw Error(ExitCode::busy, printable_path(folder) + " holds files that no run wrote (" + joined_names(strangers) +
                                    "); choose another folder with " + option);
}

void refuse_replaced(const fs::path& run) {
  std::vector<fs::path> replaced = run_files(run).replaced;
  std::erase_if(replaced, [](const fs::path& path) { return is_checkpoint(path.parent_path().filename().native()); });
  if (!replaced.empty())
    throw Error(ExitCode::busy, printable_path(run) + " holds something else where a run's own files go (" +
                                    joined_names(replaced) +
                                    "): a symbolic link, or another kind of file; move it elsewhere");
}

RunFiles run_files(const fs::path& run) {
  RunFiles files;
  add_files(files, run, "", Part::run);
  return files;
}

void remove_unfinished_files(const fs::path& run) {
  std::error_code ignored;
  for (const fs::path& path : run_files(run).own) {
    const bool of_run = path.parent_path().empty() || path.parent_path() == "samples";
    if (of_run && unfinished_file_of(path.filename().native())) fs::remove(run / path, ignored);
  }
}

void remove_run_files(const fs::path& run) {
  for (const fs::path& path : run_files(run).own) remove_own(run / path);
}

std::string joined_names(const std::vector<fs::path>& paths) {
  constexpr std::size_t most = 3;
  std::string text;
  for (const fs::path& path : std::span(paths).first(std::min(paths.size(), most)))
    text += (text.empty() ? "" : ", ") + printable(path.native());
  return paths.size() > most ? text + " and " + std::to_string(paths.size() - most) + " more" : text;
}

}  // namespace chargpt
