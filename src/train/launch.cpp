#include "train/launch.h"

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "kernels/processor.h"

namespace chargpt {
namespace {

/// A whole number from an environment variable; -1 if it has none.
int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text < '0' || *text > '9') return -1;
  return static_cast<int>(std::strtol(text, nullptr, 10));
}

struct Launcher {
  const char *by, *ranks, *rank, *local;
};
constexpr Launcher launchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpiexec", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"},
};

Error cannot_join(const Launch& launch, const std::string& why) {
  return {ExitCode::unavailable, launch.by + " has started this as " + std::to_string(launch.ranks) +
                                     " processes, which cannot train together: " + why};
}

/// Where a rank runs. Ranks on the same machine with overlapping masks share processors.
struct Place {
  std::array<char, 64> machine{};
  cpu_set_t processors{};
};

bool overlap(const Place& a, const Place& b) {
  cpu_set_t both;
  CPU_AND(&both, &a.processors, &b.processors);
  return a.machine == b.machine && CPU_COUNT(&both) > 0;
}

}  // namespace

std::optional<Launch> launch() {
  if (std::getenv(parent_variable) != nullptr) return std::nullopt;  // started by a rank
  for (const Launcher& launcher : launchers) {
    const Launch found{launcher.by, number_of(launcher.rank), number_of(launcher.ranks), number_of(launcher.local)};
    if (found.ranks > 1 && found.rank >= 0) return found;
  }
  return std::nullopt;
}

std::unique_ptr<Communicator> join(const Launch& launch, const WaitingOptions& waiting) {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path() / "chargpt-mpi.so";
  if (!is_there(path)) throw cannot_join(launch, "this build has no MPI; build it with scripts/build.sh --mpi");
  // RTLD_GLOBAL: MPI's own plug-ins need its symbols.
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) throw cannot_join(launch, ::dlerror());
  const auto make = reinterpret_cast<MakeCommunicator*>(::dlsym(module, make_communicator_name));
  if (make == nullptr) throw cannot_join(launch, path.string() + " is of another build");
  std::unique_ptr<Communicator> ranks(make(waiting));
  if (ranks->ranks() != launch.ranks)
    throw cannot_join(launch, "MPI found " + std::to_string(ranks->ranks()) + " of them; " + launch.by +
                                  " may belong to another MPI than the program's");
  return ranks;
}

std::string device_of_rank(const std::string& device, int local, std::int64_t gpus) {
  if (gpus == 0 || local < 0 || (device != "auto" && device != "cuda")) return device;
  return "cuda:" + std::to_string(local % gpus);
}

std::int64_t threads_of_rank(Communicator& ranks) {
  Place own;
  ::gethostname(own.machine.data(), own.machine.size() - 1);
  if (::sched_getaffinity(0, sizeof own.processors, &own.processors) != 0)
    std::memset(&own.processors, 0xFF, sizeof own.processors);  // the system does not tell: all
  const std::vector<Place> places = gathered(ranks, own);
  for (const char* variable : {"OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"})
    if (const int threads = number_of(variable); threads > 0) return threads;
  const auto sharing = std::ranges::count_if(places, [&](const Place& other) { return overlap(own, other); });
  return std::max<std::int64_t>(1, physical_cores() / sharing);
}

}  // namespace chargpt
