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
#include <string>
#include <thread>
#include <utility>

#include "base/files.h"
#include "checkpoint/checkpoint.h"
#include "failure.h"
#include "run/run_lock.h"
#include "test.h"
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
      const RunLock lock(run);
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
  pid_t id() const { return id_; }

 private:
  pid_t id_ = 0;
};

}  // namespace

TEST_CASE("a run in use by another process is refused, naming it") {
  const TestFolder run;
  const LockingProcess other(run.path());
  CHECK(error_of([&] { RunLock lock(run.path()); }) ==
        Failure{ExitCode::busy, run.path().string() + " is in use by another process (process " +
                                    std::to_string(other.id()) +
                                    "); wait for it, stop it, or choose another folder with --run"});
}

TEST_CASE("the lock of a killed process is gone") {
  const TestFolder run;
  LockingProcess other(run.path());
  other.kill();
  const RunLock lock(run.path());
  CHECK(std::filesystem::exists(run / ".lock"));
}

TEST_CASE("a lock given up can be taken again, two at once cannot be held") {
  const TestFolder run;
  std::optional<RunLock> lock(run.path());
  CHECK(failure_of([&] { RunLock second(run.path()); }).code() == ExitCode::busy);
  lock.reset();
  const RunLock again(run.path());
}

TEST_CASE("locking a run that is not there says so") {
  const TestFolder folder;
  CHECK(error_of([&] { RunLock lock(folder / "none"); }).code == ExitCode::missing);
}

TEST_CASE("a lock file that went with its folder between opening and locking locks nothing, and another is locked") {
  const TestFolder run;
  before_flock = [&] { std::filesystem::remove(run / ".lock"); };
  const RunLock lock(run.path());
  CHECK(failure_of([&] { RunLock second(run.path()); }).code() == ExitCode::busy);
}

TEST_CASE("a lock that somebody who only looks holds for an instant is waited for") {
  const TestFolder run;
  std::jthread looking;
  before_flock = [&] {
    const int other = ::open((run / ".lock").c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(::syscall(SYS_flock, other, LOCK_SH) == 0);
    looking = std::jthread([other] {
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
      ::close(other);
    });
  };
  const RunLock lock(run.path());
  CHECK(looking.joinable());
}

TEST_CASE("a link in place of the lock is no lock, and what it leads to stays as it is") {
  const TestFolder run;
  const std::string outside = run.write("outside", "mine");
  std::filesystem::create_symlink(outside, run / ".lock");
  CHECK_THAT(message_of(ExitCode::data, [&] { RunLock lock(run.path()); }),
             Catch::Contains(".lock is not a regular file"));
  CHECK(read_file(outside) == "mine");
}
