// The lock of a run folder, across processes.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>

#include "base/files.h"
#include "failure.h"
#include "run/checkpoint.h"
#include "run/run_folder.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

/// Done once before the next lock is asked for: what another process may do between opening and locking.
std::function<void()> before_flock;

}  // namespace

/// In place of the C library's.
int flock(int descriptor, int operation) noexcept {
  if (before_flock) std::exchange(before_flock, {})();
  return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
}

namespace {

/// A process that locks `run`, says so, and ends when it is told to or killed.
class LockingProcess {
 public:
  explicit LockingProcess(const std::filesystem::path& run) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    id_ = ::fork();
    REQUIRE(id_ >= 0);
    if (id_ == 0) {
      const Descriptor lock = lock_run(run);
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      ::pause();
    }
    char said = 0;
    REQUIRE(::read(ready[0], &said, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~LockingProcess() { kill(); }
  void kill() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
    id_ = 0;
  }

 private:
  pid_t id_ = 0;
};

}  // namespace

TEST_CASE_METHOD(TestFolder, "a run in use by another process is refused") {
  const LockingProcess other(path());
  CHECK(error_of([&] { lock_run(path()); }) ==
        Failure{ExitCode::busy, path().string() + " is in use by another process; wait for it, or stop it"});
}

TEST_CASE_METHOD(TestFolder, "a lock given up can be taken again, two at once cannot be held") {
  std::optional<Descriptor> lock = lock_run(path());
  CHECK(error_of([&] { lock_run(path()); }).code == ExitCode::busy);
  lock.reset();
  const Descriptor again = lock_run(path());
}

TEST_CASE_METHOD(TestFolder, "a test of a folder for sharing leaves nothing, and nothing strange if it is killed") {
  std::vector<std::string> meanwhile;
  before_flock = [&] { meanwhile = entries_of(path()); };
  CHECK(lacks_for_sharing(path()).empty());
  REQUIRE(meanwhile.size() == 1);
  CHECK(is_unfinished_file(meanwhile[0]));
  CHECK(entries_of(path()).empty());
}

TEST_CASE_METHOD(TestFolder, "locking a run that is not there says so") {
  CHECK(error_of([&] { lock_run(path() / "none"); }).code == ExitCode::missing);
}

TEST_CASE_METHOD(TestFolder, "a lock file that went between opening and locking locks nothing, and another is locked") {
  before_flock = [&] { std::filesystem::remove(path() / ".lock"); };
  const Descriptor lock = lock_run(path());
  CHECK(error_of([&] { lock_run(path()); }).code == ExitCode::busy);
}

TEST_CASE_METHOD(TestFolder, "a lock that somebody who only looks holds for an instant is waited for") {
  std::jthread looking;
  before_flock = [&] {
    const int other = ::open((path() / ".lock").c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(::syscall(SYS_flock, other, LOCK_SH) == 0);
    looking = std::jthread([other] {
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
      ::close(other);
    });
  };
  const Descriptor lock = lock_run(path());
  CHECK(looking.joinable());
}

TEST_CASE_METHOD(TestFolder, "a link in place of the lock is no lock, and what it leads to stays as it is") {
  const std::string outside = write("outside", "mine");
  std::filesystem::create_symlink(outside, path() / ".lock");
  CHECK_THAT(message_of(ExitCode::data, [&] { lock_run(path()); }), Catch::Contains(".lock is not a regular file"));
  CHECK(read_file(outside) == "mine");
}
