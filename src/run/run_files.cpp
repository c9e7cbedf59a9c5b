#include "run/run_files.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "report/format.h"
#include "run/checkpoint.h"
#include "run/strict_json.h"
#include "text/text_place.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr int current_version = 1;
constexpr const char* mark_text = "{\"format\": \"chargpt run\", \"version\": 1}\n";
constexpr std::uint64_t longest_mark = 4096;
constexpr std::array files{"config.json",     "metrics.jsonl",  "figures.json", "text.json",
                           "val_losses.json", "val_losses.f32", "page.html",    kept_text_name};

/// Of samples/step-00000250.txt; none if the name is not a sample's.
std::optional<std::int64_t> sample_step(std::string_view name) {
  return name.ends_with(".txt") ? checkpoint_step(name.substr(0, name.size() - 4)) : std::nullopt;
}

bool is_sample(std::string_view name) {
  return sample_step(name).has_value();
}

/// Of the checkpoint that figures.json is about; 0 if there is none, or it cannot be read.
std::int64_t figures_step(const OpenFolder& run) {
  constexpr std::uint64_t longest = 1 << 20;
  try {
    return foreign_json(run.read("figures.json", longest)).at("checkpoint").at("step").get<std::int64_t>();
  } catch (const std::exception&) {
    return 0;
  }
}

/// Whether the file of that name is the mark of a run. Error data where it is not JSON, NewerFormat where it is a newer
/// program's.
bool has_mark(const OpenFolder& folder) {
  const std::string source = printable_path(folder.path() / run_mark);
  const nlohmann::json json = parse_strict_json(folder.read(run_mark, longest_mark), source);
  const StrictObject object(json, source);
  if (object.text("format") != "chargpt run") return false;
  object.check_version("run format", current_version);
  return true;
}

/// Whether the mark is there, of a newer program too: run.json may be the name of another program's file. Errors: io.
bool is_marked(const OpenFolder& folder) {
  try {
    return folder.type(run_mark) == fs::file_type::regular && has_mark(folder);
  } catch (const NewerFormat&) {
    return true;
  } catch (const Error& error) {
    if (error.code() == ExitCode::io) throw;
    return false;
  }
}

/// What a start that is under way, or was broken off, has in its folder before it is marked: a lock, which holds
/// nothing but a process's number, or nothing yet, and what was written of a mark.
bool is_of_a_start(const OpenFolder& folder, const std::string& name) {
  constexpr std::uint64_t longest_number = 16;
  constexpr std::string_view mark = mark_text;
  try {
    if (name == lock_name) {
      const std::string text = folder.read(name, longest_number);
      return text.empty() || is_number(text);
    }
    if (is_unfinished_file(name)) return mark.starts_with(folder.read(name, mark.size()));
    return folder.type(name) == fs::file_type::not_found;
  } catch (const Error& error) {
    if (error.code() == ExitCode::io) throw;
    return error.code() == ExitCode::missing;  // gone since it was listed; else larger, or no regular file
  }
}

using Type = fs::file_type;

// What an entry of that name should be; none where a run has no such name.
Type type_in_run(const std::string& name) {
  if (name == "samples" || name == "checkpoints") return Type::directory;
  const bool is_own = name == lock_name || name == run_mark || std::ranges::find(files, name) != files.end();
  return is_own ? Type::regular : Type::none;
}
Type type_in_samples(const std::string& name) {
  return is_sample(name) ? Type::regular : Type::none;
}
Type type_in_checkpoints(const std::string& name) {
  if (name == "LATEST" || name == "BEST") return Type::regular;
  return checkpoint_step(name) ? Type::directory : Type::none;
}

void add_replaced(const OpenFolder& folder, const fs::path& shown, Type (*type_of)(const std::string& name),
                  std::vector<std::string>& replaced) {
  for (const std::string& name : folder.entries()) {
    const Type expected = type_of(name), found = folder.type(name);
    if (expected != Type::none && found != expected && found != Type::not_found)
      replaced.push_back(printable((shown / name).native()));
  }
}

/// None where a link or something else has that name.
std::optional<OpenFolder> folder_in(const OpenFolder& run, const std::string& name) {
  return run.type(name) == Type::directory ? run.find(name) : std::nullopt;
}

void remove_files(const OpenFolder& folder, bool (*chosen)(std::string_view name)) {
  for (const std::string& name : folder.entries())
    if (chosen(name) && folder.type(name) == Type::regular) folder.remove_file(name);
}

}  // namespace

bool is_run(const fs::path& folder) {
  const auto run = open_if_there(folder);
  return run && is_marked(*run);
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
  if (!is_there(folder)) return;
  const OpenFolder open(folder);
  std::vector<std::string> strangers;
  for (const std::string& name : open.entries())
    if (!is_of_a_start(open, name)) strangers.push_back(printable(name));
  if (!strangers.empty() && !is_run(folder))
    throw Error(ExitCode::busy, folder, " holds files that no run wrote (", some_of(strangers),
                "); choose another folder with ", option);
}

void refuse_replaced(const fs::path& run) {
  const OpenFolder folder(run);
  std::vector<std::string> replaced;
  add_replaced(folder, "", type_in_run, replaced);
  if (folder.type(run_mark) == Type::regular && !is_marked(folder)) replaced.emplace_back(run_mark);
  if (const auto samples = folder_in(folder, "samples")) add_replaced(*samples, "samples", type_in_samples, replaced);
  if (const auto checkpoints = folder_in(folder, "checkpoints"))
    add_replaced(*checkpoints, "checkpoints", type_in_checkpoints, replaced);
  if (!replaced.empty())
    throw Error(ExitCode::busy, run, " holds something else where a run's own files go (", some_of(replaced),
                "): a symbolic link, or another kind of file; move it elsewhere");
}

void remove_unfinished_files(const OpenFolder& run) {
  remove_files(run, is_unfinished_file);
  if (const auto samples = folder_in(run, "samples")) remove_files(*samples, is_unfinished_file);
}

void remove_later_files(const OpenFolder& run, std::int64_t step) {
  if (const auto samples = folder_in(run, "samples"))
    for (const std::string& name : samples->entries())
      if (sample_step(name).value_or(0) > step && samples->type(name) == Type::regular) samples->remove_file(name);
  if (figures_step(run) > step) run.remove_file("figures.json");
}

void remove_beginning(const OpenFolder& run) {
  remove_unfinished_files(run);
  remove_files(run, [](std::string_view name) {
    return std::ranges::find(files, name) != files.end() || name.starts_with("events.out.tfevents.");
  });
  if (const auto samples = folder_in(run, "samples")) remove_files(*samples, is_sample);
  for (const char* folder : {"samples", "checkpoints"}) run.remove_folder(folder);
  run.remove_file(run_mark);
}

}  // namespace chargpt
