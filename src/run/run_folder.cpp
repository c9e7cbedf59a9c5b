#include "run/run_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
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
    throw Error(ExitCode::io, "cannot make the folder ", path, ": ", failed.message(),
                "; choose another place with --run DIR");
  return made;
}

bool has_checkpoint(const fs::path& run) {
  try {
    return !list_checkpoints(run).empty();
  } catch (const Error&) {  // a link in their place
    return false;
  }
}

[[noreturn]] void refuse_run(const fs::path& run) {
  const std::string other = "choose another folder with --run DIR, or start over with --overwrite";
  if (!has_checkpoint(run))
    throw Error(ExitCode::busy, run, " already holds a run, which ended before it saved a checkpoint: ", other);
  throw Error(ExitCode::busy, run, " already holds a run: go on with `chargpt resume ", shell_quoted(run.native()),
              "`, ", other);
}

/// Whether a file, or the link that it is named by, lies in a folder or below it.
bool is_within(const fs::path& file, const fs::path& folder) {
  std::error_code failed;
  const fs::path path = fs::absolute(file, failed), home = fs::weakly_canonical(folder, failed);
  const auto is_below = [&home](const fs::path& place) {
    return std::mismatch(home.begin(), home.end(), place.begin(), place.end()).first == home.end();
  };
  return is_below(fs::weakly_canonical(path, failed)) ||
         is_below(fs::weakly_canonical(path.parent_path(), failed) / path.filename());
}

/// The working folder and what is named relative to it would move along.
void refuse_to_move(const fs::path& run, const std::vector<fs::path>& files) {
  if (!run.has_filename() || run.filename() == "." || run.filename() == "..")
    throw Error(ExitCode::usage, "--overwrite renames the run folder; give its name, not ", run);
  for (const fs::path& file : files)
    if (is_within(file, run))
      throw Error(ExitCode::busy, file, " is in ", run,
                  ", which --overwrite renames, so it would move away while it is read; copy it elsewhere, or choose "
                  "another folder with --run DIR");
}

void refuse_what_is_there(const fs::path& folder, const Overwrite& overwrite) {
  if (!is_run(folder)) return refuse_strangers(folder, "--run DIR");
  if (!overwrite.allowed) refuse_run(folder);
  refuse_to_move(without_final_slash(folder), overwrite.files);
}

/// None where there is no run.
std::unique_ptr<RunMovedAside> moved_aside(const std::string& wanted, const Overwrite& overwrite) {
  if (wanted.empty() || !overwrite.allowed || !is_run(wanted)) return nullptr;
  refuse_what_is_there(wanted, overwrite);
  return std::make_unique<RunMovedAside>(without_final_slash(wanted));
}

/// Renames to a name that nothing has. Errno where it cannot be done.
bool rename_to_free(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  std::error_code ignored;  // a file system without that
  if (fs::exists(fs::symlink_status(to, ignored))) errno = EEXIST;
  return errno != EEXIST && ::rename(from.c_str(), to.c_str()) == 0;
}

/// The holder's process id as it wrote it; for people only, so a file that says anything else says nothing.
std::string holder(int descriptor) {
  std::array<char, 16> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size() - 1, 0);
  const std::string digits(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return is_number(digits) ? " (process " + digits + ")" : "";
}

[[noreturn]] void fail(const Descriptor& lock, const std::filesystem::path& run, int reason) {
  if (reason == EWOULDBLOCK)
    throw Error(ExitCode::busy, run, " is in use by another process", holder(lock.number()),
                "; wait for it, stop it, or choose another folder with --run");
  if (reason == EISDIR || reason == ENXIO || reason == EBADFD || reason == ELOOP)
    throw Error(ExitCode::data, run, "/.lock is not a regular file, so it is no lock; remove it");
  if (reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP || reason == EINVAL)
    throw Error(ExitCode::io, "cannot lock ", run, "/.lock: the file system does not support locks (",
                std::generic_category().message(reason),
                "); choose a run folder on another one (--run DIR), or mount it with locks (NFS: local_lock=flock, "
                "Lustre: flock)");
  if (reason == ENOENT) throw Error(ExitCode::missing, run, " does not exist");
  throw Error(ExitCode::io, "cannot lock ", run, "/.lock: ", std::generic_category().message(reason));
}

/// A full disk leaves the lock without a name, not without effect.
void write_holder(int descriptor) {
  const std::string id = std::to_string(::getpid());
  [[maybe_unused]] const bool written =
      ::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, id.data(), id.size(), 0) > 0;
}

bool is_regular(int descriptor) {
  struct stat opened {};
  return ::fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode);
}

/// Opened and locked. It may have gone with its folder between the two, or is_locked() may hold it for an instant.
Descriptor locked(const std::filesystem::path& run) {
  const std::filesystem::path path = run / lock_name;
  constexpr int most_attempts = 6;
  for (int attempt = 1;; ++attempt) {
    Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (lock.number() >= 0 && !is_regular(lock.number())) fail(lock, run, EBADFD);
    if (lock.number() >= 0 && ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0) {
      if (is_at(path, lock)) return lock;
    } else if (errno != EWOULDBLOCK || attempt >= most_attempts) {
      fail(lock, run, errno);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

}  // namespace

std::string folder_name(std::string config_name) {
  std::replace_if(
      config_name.begin(), config_name.end(), [](unsigned char c) { return c == '/' || c == '\\' || c < 32; }, '-');
  return config_name.empty() || config_name[0] == '.' ? "run" + config_name : config_name;
}

RunPlace run_place(const fs::path& run_or_checkpoint, const std::string& which) {
  const fs::path path = without_final_slash(run_or_checkpoint);
  const fs::path parent = path.parent_path();
  if (parent.filename() != "checkpoints" || is_folder(path / "checkpoints")) return {path, which};
  const fs::path run = parent.parent_path();
  return {run.empty() ? fs::path(".") : run, path.filename().string()};
}

void refuse_overwrite_without_run(bool overwrite, const std::string& run) {
  if (overwrite && run.empty())
    throw Error(ExitCode::usage,
                "--overwrite needs --run DIR, the folder to start over in; without one the run gets a new folder");
}

void refuse_occupied(const fs::path& folder, const Overwrite& overwrite) {
  if (!is_there(folder)) return;
  make_folder(folder);  // makes none, as there is something; says so where that is a file
  refuse_what_is_there(folder, overwrite);
  if (is_locked(folder))
    throw Error(ExitCode::busy, folder,
                " is in use by another process; wait for it, stop it, or choose another folder with --run");
}

MadeFolders::MadeFolders(const std::string& wanted, const std::string& name) : path_(wanted.empty() ? "runs" : wanted) {
  std::vector<fs::path> missing;
  for (fs::path at = path_; !at.empty() && !is_there(at); at = at.parent_path()) {
    if (at.has_filename()) missing.insert(missing.begin(), at);
    if (at == at.parent_path()) break;
  }
  try {
    for (const fs::path& folder : missing)
      if (make_folder(folder)) made_.push_back(folder);
    // What was there before: this says so where it is a file.
    if (made_.empty() || made_.back() != path_) make_folder(path_);
    if (!wanted.empty()) return;
    int n = 0;
    do {
      path_ = fs::path("runs") / (folder_name(name) + "-" + std::to_string(++n));
    } while (!make_folder(path_));
    made_.push_back(path_);
  } catch (...) {
    remove_empty();
    throw;
  }
}

MadeFolders::~MadeFolders() {
  remove_empty();
}

void MadeFolders::remove_empty() const {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
}

ResultsFolder::ResultsFolder(const std::string& wanted) : made_(wanted, "compare") {
  if (is_run(path())) throw Error(ExitCode::busy, path(), " holds a run; choose another folder with --out DIR");
  try {
    lock_.emplace(path());
  } catch (const Error& error) {
    if (error.code() != ExitCode::busy) throw;
    throw Error(ExitCode::busy, "another compare is writing to ", path(),
                "; wait for it, stop it, or choose another folder with --out DIR");
  }
}

// The lock's file goes with it: what is stopped before it has a result leaves an empty folder, which is removed.
ResultsFolder::~ResultsFolder() {
  std::error_code ignored;
  fs::remove(path() / lock_name, ignored);
}

RunMovedAside::RunMovedAside(fs::path run) : run_(std::move(run)), lock_(run_) {
  for (int n = 1;; ++n) {
    moved_ = run_.native() + ".old-" + std::to_string(n);
    if (rename_to_free(run_, moved_)) return;
    if (errno != EEXIST)
      throw Error(ExitCode::io, "cannot rename ", run_, " to ", moved_, ": ", std::generic_category().message(errno),
                  "; choose another folder with --run DIR");
  }
}

RunMovedAside::~RunMovedAside() {
  if (!stays_) rename_to_free(moved_, run_);
}

NewRun::NewRun(std::unique_ptr<RunMovedAside> old, const std::string& wanted, const std::string& config_name)
    : old_(std::move(old)), made_(wanted, config_name), folder_(made_.path()) {}

// Delegates, so that the destructor undoes what is made before a refusal.
NewRun::NewRun(const std::string& wanted, const std::string& config_name, const Overwrite& overwrite)
    : NewRun(moved_aside(wanted, overwrite), wanted, config_name) {
  refuse_what_is_there(path(), {});
  const bool had_lock = is_there(path() / lock_name);
  try {
    lock_.emplace(path());
  } catch (const Error& error) {
    if (!had_lock && error.code() == ExitCode::io) folder_.remove_file(lock_name);  // nobody can lock there
    throw;
  }
  lock_is_new_ = !had_lock;
  refuse_what_is_there(path(), {});  // another process may have begun one meanwhile
}

// The lock is held until its file is gone: who opened that file before finds that it is no longer the folder's.
NewRun::~NewRun() {
  try {
    if (kept_ || !folder_.is_at_path()) return;
    if (begun_) remove_beginning(folder_);
    if (lock_is_new_) folder_.remove_file(lock_name);
  } catch (const std::exception&) {  // what cannot be removed stays
  }
}

void NewRun::begin() {
  refuse_what_is_there(path(), {});  // what came while the first steps were measured
  mark_run(path());
  begun_ = true;
}

void NewRun::keep() {
  kept_ = true;
  if (old_) old_->stay();
}

// The file stays when the lock is given up: removing it would let two processes lock two files of one name. Who removes
// it with its folder does so under the lock, and who waited for it looks again.
RunLock::RunLock(const std::filesystem::path& run) : lock_(locked(run)) {
  write_holder(lock_.number());
}

bool is_locked(const std::filesystem::path& run) {
  const std::filesystem::path path = run / lock_name;
  try {
    const Descriptor file = open_regular_file(AT_FDCWD, path.native(), path);
    return ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  } catch (const Error&) {  // what cannot be opened, or is no file, is no lock
    return false;
  }
}

}  // namespace chargpt
