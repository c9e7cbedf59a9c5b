// How much memory and how many processors there are, by what the system's files say; what a refused thread amounts to.
#include "base/memory.h"

#include <system_error>

#include "base/cgroup.h"
#include "test_folder.h"

namespace chargpt {
namespace {

/// A stand-in for "/", with files as the kernel writes them.
struct FakeSystem : TestFolder {
  explicit FakeSystem(const std::string& group = "/") {
    write("proc/self/cgroup", "12:cpu:/old\n0::" + group + "\n");
    write("proc/meminfo", "MemTotal:       16000 kB\nMemFree:          500 kB\nMemAvailable:    9000 kB\n");
  }
};

}  // namespace

TEST_CASE("files that the system only keeps in memory count as available") {
  const FakeSystem system;
  CHECK(available_memory(system.path()) == 9000 * 1024);
}

TEST_CASE("without a limit the control groups allow everything") {
  const FakeSystem system("/a");
  system.write("sys/fs/cgroup/a/memory.max", "max\n");
  system.write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  system.write("sys/fs/cgroup/a/pids.max", "max\n");
  CHECK_FALSE(cgroup_memory(system.path()));
  CHECK_FALSE(cgroup_available_memory(system.path()));
  CHECK_FALSE(cgroup_processors(system.path()));
  CHECK_FALSE(cgroup_threads(system.path()));
}

TEST_CASE("the least limit of the process's control group and of those around it counts") {
  const FakeSystem system("/outer/inner");
  system.write("sys/fs/cgroup/outer/inner/cpu.max", "150000 100000\n");
  system.write("sys/fs/cgroup/outer/cpu.max", "200000 100000\n");
  system.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  system.write("sys/fs/cgroup/outer/memory.max", "4096000\n");
  system.write("sys/fs/cgroup/outer/inner/pids.max", "70\n");
  CHECK(cgroup_processors(system.path()) == 1.5);
  CHECK(cgroup_memory(system.path()) == 4096000);
  CHECK(physical_memory(system.path()) == 4096000);
  CHECK(cgroup_threads(system.path()) == 70);
}

TEST_CASE("of a limited control group, file pages that the system gives back first are available") {
  const FakeSystem system("/a");
  system.write("sys/fs/cgroup/a/memory.max", "1000000\n");
  system.write("sys/fs/cgroup/a/memory.current", "900000\n");
  system.write("sys/fs/cgroup/a/memory.stat", "anon 300000\nfile 600000\ninactive_file 500000\n");
  CHECK(cgroup_available_memory(system.path()) == 600000);
  CHECK(available_memory(system.path()) == 600000);
}

TEST_CASE("a control group that this process cannot see is passed over") {
  const FakeSystem system("/../elsewhere");
  system.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(cgroup_processors(system.path()) == 0.5);
}

TEST_CASE("a refused thread is lack of memory, with advice; a file that would block is not") {
  const auto again = std::make_error_code(std::errc::resource_unavailable_try_again);
  const auto error = as_memory_error(std::system_error(again));
  REQUIRE(error);
  CHECK(error->code() == ExitCode::memory);
  CHECK(std::string(error->what()).starts_with("the system refused to start another thread; limits here: "));
  CHECK(std::string(error->what()).ends_with("; lower --threads, or raise the limit"));
  CHECK_FALSE(as_memory_error(fs::filesystem_error("cannot read", "pipe", again)));
}

}  // namespace chargpt
