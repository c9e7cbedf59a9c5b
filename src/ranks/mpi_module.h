// What the library that links MPI offers, so that nothing else does.
#pragma once

#include "ranks/communicator.h"

namespace chargpt {

using MakeCommunicator = Communicator*(const WaitingOptions& waiting);
inline constexpr const char* make_communicator_name = "chargpt_make_communicator_1";

}  // namespace chargpt
