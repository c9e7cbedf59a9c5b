// The half of the program that has LibTorch; chargpt goes on here where a command needs it.
#include "cli/command_line.h"
#include "training/commands.h"

int main(int argc, char** argv) {
  chargpt::be_training_half(chargpt::whole_training_half());
  return chargpt::run_command_line(argc, argv);
}
