// Detects whether a launcher such as mpirun started this process as one of several, and connects them. Independent of
// models.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "train/communicator.h"

namespace chargpt {

/// What mpirun or srun tells a process through environment variables.
struct Launch {
  std::string by;  ///< "mpirun", "srun"
  int rank = 0, ranks = 1;
  int local = 0;  ///< rank among the processes of this machine
};
/// nullopt if no launcher started this process, or only this one, or if a rank started it.
std::optional<Launch> launch();

/// Connects to the other ranks through the plug-in chargpt-mpi.so beside the program. Error unavailable if the program
/// was built without MPI, or MPI cannot be used.
std::unique_ptr<Communicator> join(const Launch& launch, const WaitingOptions& waiting);

/// The GPU of a rank: unless --device names one by number, the ranks of a machine take its GPUs in turn.
std::string device_of_rank(const std::string& device, int local, std::int64_t gpus);

/// Threads for this rank: OMP_NUM_THREADS or SLURM_CPUS_PER_TASK, else the cores that the launcher bound it to, divided
/// among ranks bound to the same cores. All ranks must call it.
std::int64_t threads_of_rank(Communicator& ranks);

}  // namespace chargpt
