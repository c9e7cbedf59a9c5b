#include "run/run_files.h"

#include <algorithm>
#include <array>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/file_names.h"
#include "base/files.h"
#include "base/quote.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/manifest.h"
#include "checkpoint/strict_json.h"
#include "run/checkpoint_folder.h"
#include "text/text_place.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr int current_version = 1;
constexpr const char* lock_name = ".lock";
constexpr const char* mark_text = "{\"format\": \"chargpt run\", \"version\": 1}\n";
constexpr std::uint64_t longest_mark = 4096;

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

std::string shown(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  for (const fs::path& path : paths) names.push_back(printable(path.native()));
  return some_of(names);
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
  if (unfinished && unfinished->empty()) return true;
  return is_written_whole(part, unfinished ? *unfinished : name);
}

/// A folder of ours, as the part it is.
std::optional<Part> own_folder(Part part, std::string_view name) {
  if (part == Part::run && name == "samples") return Part::samples;
  if (part == Part::run && name == "checkpoints") return Part::checkpoints;
  if (part == Part::checkpoints && is_checkpoint(name)) return Part::checkpoint;
  return std::nullopt;
}

/// Whether the file of that name is the mark of a run. Error data where it is not JSON, NewerFormat where it is a newer
/// program's.
bool has_mark(const OpenFolder& folder) {
  const std::string source = printable_path(folder.path() / run_mark);
  const nlohmann::json json = parse_strict_json(folder.read(run_mark, longest_mark), source);
  const StrictObject object(json, source);
  if (object.text("format") != "chargpt run") return false;
  object.version("run format", current_version);
  return true;
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
bool is_marked(const OpenFolder& folder) {
  return folder.type(run_mark) == fs::file_type::regular && is_ours([&folder] { return has_mark(folder); });
}

void add_files(RunFiles& files, const OpenFolder& within, const fs::path& path_within, Part part) {
  for (const std::string& name : within.entries()) {
    const fs::path path = path_within / name;
    const fs::file_type type = within.type(name);    // looked at once: who saves there may change it
    if (type == fs::file_type::not_found) continue;  // gone since it was listed
    const std::optional<Part> folder = own_folder(part, name);
    const bool has_own_name = is_own_file(part, name);
    const bool is_own = has_own_name && type == fs::file_type::regular && (path != run_mark || is_marked(within));
    if (folder && type == fs::file_type::directory) {
      if (const auto found = within.find(name)) add_files(files, *found, path, *folder);
      files.own.push_back(path);
    } else if (is_own) {
      if (path != run_mark && path != lock_name) files.own.push_back(path);
    } else {
      files.foreign.push_back(path);
      if (folder || has_own_name) files.replaced.push_back(path);
    }
  }
}

bool has_manifest(const std::optional<OpenFolder>& checkpoint) {
  return checkpoint && is_ours([&checkpoint] {
           read_manifest(*checkpoint);
           return true;
         });
}

/// What a start that is under way, or was broken off, has in its folder before it is marked: a lock, which holds
/// nothing but a process's number, or nothing yet, and what was written of a mark.
bool is_of_a_start(const OpenFolder& folder, const std::string& name) {
  constexpr std::uint64_t longest_number = 16;
  constexpr std::string_view mark = mark_text;
  const std::optional<std::string> unfinished = unfinished_file_of(name);
  try {
    if (name == lock_name) {
      const std::string text = folder.read(name, longest_number);
      return text.empty() || is_number(text);
    }
    if (unfinished && (unfinished->empty() || *unfinished == run_mark))
      return mark.starts_with(folder.read(name, mark.size()));
    return folder.type(name) == fs::file_type::not_found;
  } catch (const Error& error) {
    if (error.code() == ExitCode::io) throw;
    return error.code() == ExitCode::missing;  // gone since it was listed; else larger, or no regular file
  }
}

}  // namespace

bool is_run(const fs::path& folder) {
  const auto run = open_if_there(folder);
  if (run && is_marked(*run)) return true;
  if (!run || run->type("checkpoints") != fs::file_type::directory) return false;
  const auto checkpoints = run->find("checkpoints");
  const std::vector<std::string> names = checkpoints->entries();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return is_checkpoint(name) && checkpoints->type(name) == fs::file_type::directory &&
           has_manifest(checkpoints->find(name));
  });
}

void refuse_newer_run(const OpenFolder& run) {
  if (run.type(run_mark) != fs::file_type::regular) return;
  try {
    has_mark(run);
  } catch (const NewerFormat&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::io) throw;
  }
}

void mark_run(const OpenFolder& run) {
  if (!is_marked(run)) run.write(run_mark, mark_text);
}

void refuse_strangers(const fs::path& folder, const std::string& option) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return;
  const OpenFolder open(folder);
  std::vector<fs::path> strangers;
  for (const std::string& name : open.entries())
    if (!is_of_a_start(open, name)) strangers.push_back(name);
  if (!strangers.empty() && !is_run(folder))
    throw Error(ExitCode::busy, folder, " holds files that no run wrote (", shown(strangers),
                "); choose another folder with ", option);
}

void refuse_replaced(const fs::path& run) {
  std::vector<fs::path> replaced = run_files(run).replaced;
  std::erase_if(replaced, [](const fs::path& path) { return is_checkpoint(path.parent_path().filename().native()); });
  if (!replaced.empty())
    throw Error(ExitCode::busy, run, " holds something else where a run's own files go (", shown(replaced),
                "): a symbolic link, or another kind of file; move it elsewhere");
}

RunFiles run_files(const fs::path& run) {
  RunFiles files;
  if (const auto folder = open_if_there(run)) add_files(files, *folder, "", Part::run);
  return files;
}

void remove_unfinished_files(const fs::path& run) {
  std::error_code ignored;
  for (const fs::path& path : run_files(run).own) {
    const bool of_run = path.parent_path().empty() || path.parent_path() == "samples";
    if (of_run && unfinished_file_of(path.filename().native())) fs::remove(run / path, ignored);
  }
}

}  // namespace chargpt
