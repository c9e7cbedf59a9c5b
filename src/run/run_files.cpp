#include "run/run_files.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "report/format.h"
#include "run/checkpoint.h"
#include "run/kept_text.h"
#include "run/safetensors.h"

namespace chargpt {
namespace {

constexpr int current_version = 1;
constexpr std::uint64_t longest_mark = 1 << 22;
constexpr std::array files{"config.json", "metrics.jsonl", kept_text_name, "page.html", lock_name, run_mark};
constexpr const char* folders[] = {"", "samples", "checkpoints"};  // of a run; "" is the run folder itself

using Type = fs::file_type;

/// The type that an entry with this name should have; none if a run has no such name.
Type expected_type(const std::string& folder, const std::string& name) {
  const bool is_own = folder == "samples"       ? step_of(name, ".txt").has_value()
                      : folder == "checkpoints" ? step_of(name, checkpoint_extension).has_value()
                                                : std::ranges::find(files, name) != files.end();
  if (folder.empty() && (name == folders[1] || name == folders[2])) return Type::directory;
  return is_own ? Type::regular : Type::none;
}

void remove_file(const fs::path& file) {
  std::error_code ignored;
  if (type_at(file) == Type::regular) fs::remove(file, ignored);
}

nlohmann::ordered_json facts_of(const fs::path& run) {
  auto facts = foreign_json(read_regular_file(run / run_mark, longest_mark));
  if (!facts.is_object())
    throw Error(ExitCode::data, run / run_mark,
                " is damaged: it is not a JSON object; put back a copy, or use a checkpoint elsewhere");
  return facts;
}

}  // namespace

std::vector<std::string> names_in(const fs::path& run, const std::string& folder) {
  return folder.empty() || type_at(run / folder) == Type::directory ? entries_of(run / folder)
                                                                    : std::vector<std::string>();
}

bool is_run(const fs::path& folder) {
  if (run_fact(folder, "format") == "chargpt run") return true;
  const bool may_be_damaged = type_at(folder / run_mark) == Type::regular && !names_in(folder, "checkpoints").empty();
  if (may_be_damaged) facts_of(folder);  // throws if it is
  return false;
}

void refuse_newer_run(const fs::path& run) {
  const nlohmann::ordered_json version = run_fact(run, "version");
  if (version.is_number_integer() && version > current_version)
    throw NewerFormat(ExitCode::data, run / run_mark, ": run format of version ", version.dump(),
                      ", made by a newer chargpt; this one reads version ", current_version);
}

void mark_run(const fs::path& run, const std::string& program_version) {
  const nlohmann::ordered_json mark = {{"format", "chargpt run"},
                                       {"version", current_version},
                                       {"program", program_version},
                                       {"began", std::time(nullptr)}};
  if (!is_run(run)) write_file_atomically(run / run_mark, json_text(mark));
}

nlohmann::ordered_json run_fact(const fs::path& run, const std::string& name) {
  if (run.empty()) return nullptr;  // of a checkpoint outside a run, not of the working folder
  try {
    return facts_of(run).value(name, nlohmann::ordered_json());
  } catch (const Error& error) {
    if (error.code() == ExitCode::io) throw;
    return nullptr;
  }
}

void keep_run_fact(const fs::path& run, const std::string& name, const nlohmann::ordered_json& value) {
  nlohmann::ordered_json facts = facts_of(run);
  if (value.is_null())
    facts.erase(name);
  else
    facts[name] = value;
  write_file_atomically(run / run_mark, json_text(facts));
}

void refuse_strangers(const fs::path& folder, const std::string& option) {
  if (is_file(folder)) throw Error(ExitCode::io, folder, " is a file; choose a folder with ", option);
  std::vector<std::string> strangers;
  for (const std::string& name : entries_of(folder))
    if (name != lock_name && !is_unfinished_file(name)) strangers.push_back(printable(name));
  if (!strangers.empty() && !is_run(folder))
    throw Error(ExitCode::busy, folder, " contains files that chargpt did not write (", some_of(strangers),
                "); choose another folder with ", option);
}

void refuse_replaced(const fs::path& run) {
  std::vector<std::string> replaced;
  for (const std::string folder : folders)
    for (const std::string& name : names_in(run, folder)) {
      const Type expected = expected_type(folder, name), found = type_at(run / folder / name);
      if (expected != Type::none && found != expected && found != Type::not_found)
        replaced.push_back(printable((fs::path(folder) / name).native()));
    }
  if (!replaced.empty())
    throw Error(ExitCode::busy, run, " has a symbolic link, or another kind of file, in place of a run's own files (",
                some_of(replaced), "); move it elsewhere");
}

void remove_unfinished_files(const fs::path& run) {
  for (const std::string folder : folders)
    for (const std::string& name : names_in(run, folder))
      if (is_unfinished_file(name)) remove_file(run / folder / name);
}

void remove_later_files(const fs::path& run, std::int64_t step) {
  for (const std::string& name : names_in(run, "samples"))
    if (step_of(name, ".txt").value_or(0) > step) remove_file(run / "samples" / name);
  if (value_at(run_fact(run, "figures"), "/checkpoint/step") > step) keep_run_fact(run, "figures", nullptr);
}

}  // namespace chargpt
