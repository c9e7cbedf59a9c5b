#include "run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "run/checkpoints.h"
#include "run/run_files.h"

namespace chargpt {
namespace {

/// Makes the wanted folder and its parents; if none is wanted, runs/<name>-<n> with the first free n.
fs::path made_folder(const std::string& wanted, const std::string& name) {
  std::error_code failed;
  const fs::path folder = wanted.empty() ? "runs" : wanted;
  fs::create_directories(folder, failed);
  if (!is_folder(folder))
    throw Error(ExitCode::io, "cannot make the folder ", folder, ": ",
                failed ? failed.message() : "a file has that name", "; choose another with --run DIR or --out DIR");
  if (!wanted.empty()) return folder;
  for (int n = 1;; ++n) {
    const fs::path free = folder / (folder_name(name) + "-" + std::to_string(n));
    if (make_folder(free)) return free;
  }
}

[[noreturn]] void refuse_run(const fs::path& run) {
  const std::string other = "choose another folder with --run DIR, or let train start over with --overwrite";
  if (list_checkpoints(run).empty())
    throw Error(ExitCode::busy, run, " contains a run that stopped before its first checkpoint: ", other);
  throw Error(ExitCode::busy, run, " already contains a run: continue it with `chargpt resume ",
              shell_quoted(run.native()), "`, ", other);
}

void refuse_what_is_there(const fs::path& folder, bool overwrite) {
  if (!is_run(folder)) return refuse_strangers(folder, "--run DIR");
  if (!overwrite) refuse_run(folder);
  const fs::path name = without_final_slash(folder).filename();
  if (name.empty() || name == "." || name == "..")  // --overwrite would rename the working folder
    throw Error(ExitCode::usage, "--overwrite renames the run folder; give its name, not ", folder);
}

/// Renames a run that no process uses to RUN.old-N. Returns the new path.
fs::path moved_aside(const fs::path& run) {
  const Descriptor lock = lock_run(run);
  fs::path free;
  for (int n = 1; free.empty() || type_at(free) != fs::file_type::not_found; ++n)
    free = run.native() + ".old-" + std::to_string(n);
  std::error_code failed;
  fs::rename(run, free, failed);
  if (failed)
    throw Error(ExitCode::io, "cannot rename ", run, " to ", free, ": ", failed.message(),
                "; choose another folder with --run DIR");
  return free;
}

[[noreturn]] void refuse_locked(const fs::path& run) {
  throw Error(ExitCode::busy, run, " is in use by another process; wait for it, or stop it");
}

[[noreturn]] void fail(const fs::path& run, int reason) {
  if (reason == EWOULDBLOCK) refuse_locked(run);
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

bool is_regular(int descriptor) {
  struct stat opened {};
  return ::fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode);
}

}  // namespace

std::string folder_name(std::string config_name) {
  std::replace_if(
      config_name.begin(), config_name.end(), [](unsigned char c) { return c == '/' || c == '\\' || c < 32; }, '-');
  return config_name.empty() || config_name[0] == '.' ? "run" + config_name : config_name;
}

fs::path run_of(const fs::path& run_or_checkpoint) {
  const fs::path path = without_final_slash(run_or_checkpoint);
  fs::path folder = path.parent_path();
  std::error_code gone;
  if (folder.empty() || folder == ".") folder = fs::current_path(gone);
  if (step_of(path.filename().string(), checkpoint_extension) && folder.filename() == "checkpoints" &&
      is_run(folder_of(folder)))
    return folder_of(folder);
  return is_file(path) ? fs::path() : path;
}

bool is_checkpoint_file(const fs::path& path) {
  return path.extension() == checkpoint_extension && is_file(path);
}

bool is_run_or_checkpoint(const fs::path& path) {
  return is_folder(path) || is_checkpoint_file(path);
}

void refuse_occupied(const fs::path& folder, bool overwrite) {
  if (folder.empty() && overwrite)
    throw Error(ExitCode::usage,
                "--overwrite needs --run DIR, the folder to start over in; without one the run gets a new folder");
  if (folder.empty()) return;
  refuse_what_is_there(folder, overwrite);
  if (is_locked(folder)) refuse_locked(folder);
}

OwnFolder results_folder(const std::string& wanted, bool alone) {
  OwnFolder folder{made_folder(wanted, "compare")};
  if (is_run(folder.path))
    throw Error(ExitCode::busy, folder.path, " contains a run; choose another folder with --out DIR");
  if (alone) folder.lock = lock_run(folder.path);
  return folder;
}

OwnFolder new_run(const std::string& wanted, const std::string& config_name, bool overwrite,
                  const std::string& program_version) {
  refuse_occupied(wanted, overwrite);
  const bool overwrites = !wanted.empty() && is_run(wanted);
  const fs::path old_run = overwrites ? moved_aside(without_final_slash(wanted)) : fs::path();
  OwnFolder folder{made_folder(wanted, config_name)};
  folder.lock = lock_run(folder.path);
  folder.old_run = old_run;
  refuse_what_is_there(folder.path, /*overwrite=*/false);  // another process may have started a run
  mark_run(folder.path, program_version);
  return folder;
}

// Retries if the folder was removed in between, or while is_locked() holds the lock for a moment. The lock file stays:
// if it were removed, two processes could lock two files of the same name. --overwrite renames the folder under its
// lock, and a process that waited for the lock checks the path again.
Descriptor lock_run(const std::filesystem::path& run) {
  const std::filesystem::path path = run / lock_name;
  constexpr int most_attempts = 6;
  for (int attempt = 1;; ++attempt) {
    Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (lock.number() >= 0 && !is_regular(lock.number())) fail(run, EBADFD);
    if (lock.number() >= 0 && ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0) {
      if (is_at(path, lock)) return lock;
    } else if (errno != EWOULDBLOCK || attempt >= most_attempts) {
      fail(run, errno);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

std::vector<std::string> lacks_for_sharing(const fs::path& folder) {
  const fs::path probe = folder / (".chargpt-" + std::to_string(::getpid()) + "-0.partial");  // as unfinished files
  std::error_code failed;
  if (!fs::create_directory(probe, failed))
    throw Error(ExitCode::io, "cannot write to ", folder, ": ", failed ? failed.message() : "it has the folder's name");
  std::vector<std::string> lacks;
  try {
    const Descriptor lock = lock_run(probe);
    constexpr const char* program = "/usr/bin/flock";  // its exit status is 1 if the file is locked
    if (!is_file(program))
      lacks.emplace_back("locks are not tested, because /usr/bin/flock (util-linux) is missing");
    else if (ChildProcess({program, "-n", (probe / lock_name).string(), "/bin/true"}).wait() != 1)
      lacks.emplace_back("another process does not see a lock, so only one process at a time may work there");
  } catch (const Error& error) {
    lacks.emplace_back(error.what());
  }
  fs::create_hard_link(probe / lock_name, probe / "link", failed);
  if (failed) lacks.emplace_back("it has no hard links, so each run of a comparison keeps its own copy of the text");
  fs::remove_all(probe, failed);
  return lacks;
}

bool is_locked(const std::filesystem::path& run) {
  const Descriptor file(::open((run / lock_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;  // EBADF: it cannot be opened
}

}  // namespace chargpt
