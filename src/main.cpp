// The program: one try/catch, exit codes, and nothing else.
#include "cli/commands.h"

int main(int argc, char** argv) {
  return chargpt::run_command_line(argc, argv);
}
