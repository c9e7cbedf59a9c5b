// How much memory and how many processors there are, by what the system's files say; what a refused thread amounts to.
#include "base/memory.h"

#include <limits>
#include <system_error>

#include "test_folder.h"

namespace chargpt {
namespace {

/// A stand-in for "/", with files as the kernel writes them.
struct FakeSystem : TestFolder {
  explicit FakeSystem(const std::string& group = "/") { write("proc/self/cgroup", "12:cpu:/old\n0::" + group + "\n"); }
};

}  // namespace

TEST_CASE("without a limit the control groups allow everything") {
  const FakeSystem system("/a");
  system.write("sys/fs/cgroup/a/memory.max", "max\n");
  system.write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  const CgroupLimits limits = cgroup_limits(system.path());
  CHECK(limits.memory == std::numeric_limits<std::int64_t>::max());
  CHECK(limits.processors == std::numeric_limits<double>::infinity());
}

TEST_CASE("the least limit of the process's control group and of those around it counts") {
  const FakeSystem system("/outer/inner");
  system.write("sys/fs/cgroup/outer/inner/cpu.max", "150000 100000\n");
  system.write("sys/fs/cgroup/outer/cpu.max", "200000 100000\n");
  system.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  system.write("sys/fs/cgroup/outer/memory.max", "4096000\n");
  CHECK(cgroup_limits(system.path()).processors == 1.5);
  CHECK(physical_memory(system.path()) == 4096000);
}

TEST_CASE("a control group that this process cannot see is passed over") {
  const FakeSystem system("/../elsewhere");
  system.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(cgroup_limits(system.path()).processors == 0.5);
}

TEST_CASE("a refused thread is lack of memory, with advice; a file that would block is not") {
  const auto again = std::make_error_code(std::errc::resource_unavailable_try_again);
  const auto error = as_memory_error(std::system_error(again));
  REQUIRE(error);
  CHECK(error->code() == ExitCode::memory);
  CHECK(std::string(error->what()).starts_with("the system refused to start another thread; lower --threads, "));
  CHECK_FALSE(as_memory_error(fs::filesystem_error("cannot read", "pipe", again)));
}

}  // namespace chargpt
