#include "train/communicator.h"

#include <array>
#include <cstdlib>

#include "base/child_process.h"
#include "base/part.h"
#include "test.h"
#include "train/launch.h"

namespace chargpt {
namespace {

TEST_CASE("parts cover a range once, in order, and differ by one at most") {
  for (const std::int64_t n : {0, 1, 5, 12, 1000})
    for (const std::int64_t parts : {1, 2, 3, 7}) {
      std::int64_t end = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Part part = part_of(n, parts, i);
        CHECK(part.begin == end);
        CHECK((part.size == n / parts || part.size == n / parts + 1));
        end = part.begin + part.size;
      }
      CHECK(end == n);
    }
}

/// The environment of a launcher, as long as it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

TEST_CASE("a launcher is known by what it tells its processes") {
  CHECK_FALSE(launch());
  {
    const Environment size("OMPI_COMM_WORLD_SIZE", "4"), rank("OMPI_COMM_WORLD_RANK", "3"),
        local("OMPI_COMM_WORLD_LOCAL_RANK", "1");
    const auto found = launch();
    REQUIRE(found);
    CHECK(found->by == "mpirun");
    CHECK(found->ranks == 4);
    CHECK(found->rank == 3);
    CHECK(device_of_rank("auto", found->local, 2) == "cuda:1");
  }
  {
    const Environment size("SLURM_STEP_NUM_TASKS", "2"), rank("SLURM_PROCID", "0");
    CHECK(launch()->by == "srun");
  }
  {
    const Environment size("PMI_SIZE", "2"), rank("PMI_RANK", "1"), parent(parent_variable, "1");
    CHECK_FALSE(launch());
  }
  {
    const Environment size("OMPI_COMM_WORLD_SIZE", "1"), rank("OMPI_COMM_WORLD_RANK", "0");
    CHECK_FALSE(launch());  // by itself it needs no MPI
  }
  CHECK(device_of_rank("cuda", 3, 2) == "cuda:1");
  CHECK(device_of_rank("cuda:0", 1, 2) == "cuda:0");
  CHECK(device_of_rank("auto", 1, /*gpus=*/0) == "auto");
  const Environment batch("SLURM_NTASKS", "8"), rank("SLURM_PROCID", "0");
  CHECK_FALSE(launch());  // the script of a job is one process, however many tasks the job has
}

TEST_CASE("threads of a rank are those asked for in the environment, or its cores") {
  Communicator alone;
  CHECK(threads_of_rank(alone) >= 1);
  const Environment of_task("SLURM_CPUS_PER_TASK", "5"), none("OMP_NUM_THREADS", "0");
  CHECK(threads_of_rank(alone) == 5);
  const Environment threads("OMP_NUM_THREADS", "3");
  CHECK(threads_of_rank(alone) == 3);
}

}  // namespace
}  // namespace chargpt
