// Trainings that are processes of their own, of this very program: what one of them says when it fails. Knows no
// training.
#pragma once

#include <string>

#include "base/child_process.h"
#include "base/error.h"

namespace chargpt {

/// The line of the error that ended `child` with `code`, without its prefix; where it left none, how it ended.
std::string error_of(const ChildProcess& child, int code);

/// That failure as one of this process: of the same exit code, its line opening with `run` ("default with seed 1337").
Error failure_of_run(const std::string& run, const ChildProcess& child, int code);

}  // namespace chargpt
