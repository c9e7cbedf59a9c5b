#include "run/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "run/checkpoints.h"
#include "run/run_files.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

/// False where it is there already.
bool make_folder(const fs::path& path) {
  std::error_code failed;
  const bool made = fs::create_directory(path, failed);
  if (failed)
    throw Error(ExitCode::io, "cannot make the folder " + path.string() + ": " + failed.message() +
                                  "; choose another place with --run DIR");
  return made;
}

MadeFolders made_folders(const std::string& wanted, const std::string& name) {
  return wanted.empty() ? MadeFolders::first_free(name) : MadeFolders(wanted);
}

[[noreturn]] void refuse_run(const fs::path& run) {
  const std::string other = "choose another folder with --run DIR, or start over with --overwrite";
  if (list_checkpoints(run).empty())
    throw Error(ExitCode::busy,
                run.string() + " already holds a run, which ended before it saved a checkpoint: " + other);
  throw Error(ExitCode::busy, run.string() + " already holds a run: go on with `chargpt resume " +
                                  shell_quoted(run.native()) + "`, " + other);
}

void refuse_foreign_files(const fs::path& run) {
  const std::vector<fs::path> foreign = run_files(run).foreign;
  if (!foreign.empty())
    throw Error(ExitCode::busy, run.string() + " holds files that no run wrote (" + joined_names(foreign) +
                                    "), and --overwrite removes only a run's own: move them elsewhere, or choose "
                                    "another folder with --run DIR");
}

void refuse_what_is_there(const fs::path& folder, bool overwrite) {
  if (!is_run(folder)) return refuse_strangers(folder, "--run DIR");
  if (!overwrite) refuse_run(folder);
  refuse_foreign_files(folder);
}

}  // namespace

std::string folder_name(std::string config_name) {
  std::replace_if(
      config_name.begin(), config_name.end(), [](unsigned char c) { return c == '/' || c == '\\' || c < 32; }, '-');
  return config_name.empty() || config_name[0] == '.' ? "run" + config_name : config_name;
}

RunPlace run_place(const fs::path& run_or_checkpoint, const std::string& which) {
  const bool slash = !run_or_checkpoint.has_filename();
  const fs::path path = slash ? run_or_checkpoint.parent_path() : run_or_checkpoint;
  const fs::path parent = path.parent_path();
  std::error_code ignored;
  if (parent.filename() != "checkpoints" || fs::is_directory(path / "checkpoints", ignored)) return {path, which};
  const fs::path run = parent.parent_path();
  return {run.empty() ? fs::path(".") : run, path.filename().string()};
}

void refuse_occupied(const fs::path& folder, bool overwrite) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return;
  make_folder(folder);  // makes none, as there is something; says so where that is a file
  refuse_what_is_there(folder, overwrite);
  if (is_locked(folder))
    throw Error(ExitCode::busy, folder.string() + " is in use by another process; wait for it, stop it, or choose " +
                                    "another folder with --run");
}

MadeFolders::MadeFolders(const fs::path& path) : path_(path) {
  std::vector<fs::path> missing;
  std::error_code failed;
  for (fs::path at = path; !at.empty() && !fs::exists(at, failed); at = at.parent_path()) {
    if (at.has_filename()) missing.insert(missing.begin(), at);
    if (at == at.parent_path()) break;
  }
  try {
    for (const fs::path& folder : missing)
      if (make_folder(folder)) made_.push_back(folder);
    // What was there before: this says so where it is a file. What was made is not made again, should it be renamed.
    if (made_.empty() || made_.back() != path) make_folder(path);
  } catch (...) {
    remove_empty();
    throw;
  }
}

MadeFolders MadeFolders::first_free(const std::string& name) {
  MadeFolders made("runs");
  for (int n = 1;; ++n) {
    made.path_ = fs::path("runs") / (folder_name(name) + "-" + std::to_string(n));
    if (!make_folder(made.path_)) continue;
    made.made_.push_back(made.path_);
    return made;
  }
}

MadeFolders::~MadeFolders() {
  remove_empty();
}

void MadeFolders::remove_empty() const {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
}

ResultsFolder::ResultsFolder(const std::string& wanted, const std::string& name, bool goes_on)
    : made_(made_folders(wanted, name)), folder_(made_.path()) {
  if (is_run(path()))
    throw Error(ExitCode::busy, path().string() + " holds a run; choose another folder with --out DIR");
  if (!goes_on) refuse_strangers(path(), "--out DIR");
}

NewRun::NewRun(MadeFolders made) : made_(std::move(made)), folder_(made_.path()) {}

// Delegates, so that the destructor undoes what is made before a refusal.
NewRun::NewRun(const std::string& wanted, const std::string& config_name, bool overwrite)
    : NewRun(made_folders(wanted, config_name)) {
  refuse_what_is_there(path(), overwrite);
  std::error_code ignored;
  const bool had_lock = fs::exists(path() / ".lock", ignored);
  lock_.emplace(path());
  lock_is_new_ = !had_lock;
  refuse_what_is_there(path(), overwrite);  // another process may have begun one meanwhile
}

NewRun::~NewRun() {
  if (kept_) return;
  try {
    undo();
  } catch (const std::exception&) {  // what cannot be removed stays
  }
}

// The lock is held until its file is gone: who opened that file before finds that it is no longer the folder's.
void NewRun::undo() {
  std::error_code ignored;
  if (begun_) {
    remove_run_files(path());
    fs::remove(path() / run_mark, ignored);
  }
  if (lock_is_new_) fs::remove(path() / ".lock", ignored);
}

// Marked before anything of an earlier run goes, whose manifests may be all that tells that it was one.
void NewRun::begin() {
  refuse_what_is_there(path(), /*overwrite=*/true);  // what came while the first steps were measured
  begun_ = !is_run(path());
  mark_run(path());
  begun_ = true;
  remove_run_files(path());
}

}  // namespace chargpt
