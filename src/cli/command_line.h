// From argv to one command, and from any failure to one line and an exit code.
#pragma once

namespace chargpt {

/// Parses, runs, catches. Returns the process's exit code (README.md, "Exit codes").
int run_command_line(int argc, char** argv);

}  // namespace chargpt
