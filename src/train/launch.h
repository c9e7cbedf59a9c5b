// Whether this process is one of several that a launcher has started together, and how they find each other. Knows no
// model.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "train/communicator.h"

namespace chargpt {

/// As mpirun, or srun, tells its processes by their environment.
struct Launch {
  std::string by;  ///< "mpirun", "srun"
  int rank = 0, ranks = 1;
  int local = 0;  ///< rank among those of this machine
};
/// None where no launcher has started this process, or one that started it alone; and for what a rank has started.
std::optional<Launch> launch();

/// Joins the others, by the library that lies beside the program. Error unavailable where the program was built without
/// MPI, or MPI cannot be used.
std::unique_ptr<Communicator> join(const Launch& launch, const WaitingOptions& waiting);

/// Each rank of a machine with `gpus` takes one of them, in turn, where --device names none by number.
std::string device_of_rank(const std::string& device, int local, std::int64_t gpus);

/// Threads that each rank of this machine should have: OMP_NUM_THREADS or SLURM_CPUS_PER_TASK, else one per processor
/// that the launcher has bound it to, divided where ranks were bound to the same ones. Asks all ranks.
struct Placement {
  std::int64_t threads = 1;
  std::string reason;  ///< "OMP_NUM_THREADS", "2 processors shared by 2 ranks"
};
Placement placement(Communicator& ranks);

}  // namespace chargpt
