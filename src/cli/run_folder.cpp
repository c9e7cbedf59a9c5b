#include "cli/run_folder.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/unfinished_files.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

/// Makes a folder and those above it; says which were not there, outermost first.
std::vector<fs::path> make_folders(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code failed;
  for (fs::path at = path; !at.empty() && !fs::exists(at, failed); at = at.parent_path()) {
    if (at.has_filename()) missing.insert(missing.begin(), at);
    if (at == at.parent_path()) break;
  }
  fs::create_directories(path, failed);
  if (failed)
    throw Error(ExitCode::io, "cannot make the folder " + path.string() + ": " + failed.message() +
                                  "; --run DIR chooses another place");
  return missing;
}

/// "ladder/bigram" -> "ladder-bigram": one folder name, whatever the config is called.
std::string folder_name(std::string config_name) {
  std::replace_if(
      config_name.begin(), config_name.end(), [](unsigned char c) { return c == '/' || c == '\\' || c < 32; }, '-');
  return config_name.empty() || config_name[0] == '.' ? "run" + config_name : config_name;
}

/// runs/<name>-<n>, and what had to be made for it.
std::vector<fs::path> make_first_free_folder(const std::string& name) {
  std::vector<fs::path> made = make_folders("runs");
  for (int n = 1;; ++n) {
    const fs::path path = fs::path("runs") / (folder_name(name) + "-" + std::to_string(n));
    std::error_code failed;
    if (fs::create_directory(path, failed)) {
      made.push_back(path);
      return made;
    }
    if (failed) throw Error(ExitCode::io, "cannot make the folder " + path.string() + ": " + failed.message());
  }
}

bool belongs_to_a_run(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "config.json" || name == "metrics.jsonl" || name == "samples" || name == "checkpoints" ||
         name == "figures.json" || name == "report.html" || name == ".lock" ||
         name.starts_with("events.out.tfevents.") || is_unfinished_name(name);
}

/// All that a run consists of, but for the lock.
void empty_run_folder(const fs::path& run) {
  std::vector<fs::path> parts;
  for (const fs::directory_entry& entry : fs::directory_iterator(run))
    if (belongs_to_a_run(entry.path()) && entry.path().filename() != ".lock") parts.push_back(entry.path());
  for (const fs::path& part : parts) fs::remove_all(part);
}

[[noreturn]] void refuse_run(const fs::path& run) {
  const std::string other = "choose another folder by --run DIR, or start over by --overwrite";
  if (list_checkpoints(run).empty())
    throw Error(ExitCode::busy,
                run.string() + " already holds a run, which ended before it saved a checkpoint: " + other);
  throw Error(ExitCode::busy,
              run.string() + " already holds a run: go on with it by `chargpt resume " + run.string() + "`, " + other);
}

void refuse_existing(const fs::path& run) {
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    const std::string name = entry.path().filename().string();
    if (!belongs_to_a_run(entry.path()))
      throw Error(ExitCode::busy, run.string() + " holds files that are no part of a run (" + name +
                                      "); choose another folder by --run DIR");
    if (name == "config.json" || name == "checkpoints") refuse_run(run);
  }
}

}  // namespace

RunPlace run_place(const fs::path& run_or_checkpoint, const std::string& which) {
  const bool slash = !run_or_checkpoint.has_filename();
  const fs::path path = slash ? run_or_checkpoint.parent_path() : run_or_checkpoint;
  const fs::path parent = path.parent_path();
  std::error_code ignored;
  if (parent.filename() != "checkpoints" || fs::is_directory(path / "checkpoints", ignored)) return {path, which};
  const fs::path run = parent.parent_path();
  return {run.empty() ? fs::path(".") : run, path.filename().string()};
}

fs::path make_run_folder(const std::string& wanted, const std::string& name) {
  if (wanted.empty()) return make_first_free_folder(name).back();
  make_folders(wanted);
  refuse_existing(wanted);
  return wanted;
}

NewRun::NewRun(const std::string& wanted, const std::string& config_name)
    : made_(wanted.empty() ? make_first_free_folder(config_name) : make_folders(wanted)),
      path_(wanted.empty() ? made_.back() : fs::path(wanted)) {}

// Delegates, so that the destructor undoes what is made before a refusal.
NewRun::NewRun(const std::string& wanted, const std::string& config_name, bool overwrite)
    : NewRun(wanted, config_name) {
  if (!overwrite) refuse_existing(path_);
  std::error_code ignored;
  const bool had_lock = fs::exists(path_ / ".lock", ignored);
  lock_.emplace(path_);
  lock_is_new_ = !had_lock;
  if (!overwrite) refuse_existing(path_);  // another process may have begun one meanwhile
}

// The lock is held until its file is gone: who opened that file before finds that it is no longer the folder's.
NewRun::~NewRun() {
  if (kept_) return;
  std::error_code ignored;
  try {
    if (begun_) empty_run_folder(path_);
  } catch (const std::exception&) {  // what cannot be removed stays
  }
  if (lock_is_new_) fs::remove(path_ / ".lock", ignored);
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, ignored);
}

void NewRun::begin() {
  empty_run_folder(path_);
  begun_ = true;
}

}  // namespace chargpt
