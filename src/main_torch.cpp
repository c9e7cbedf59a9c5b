// The LibTorch part of the program, in a library of its own, chargpt-torch.so, loaded if an engine or a device needs
// it.
#include "libtorch/module.h"

extern "C" __attribute__((visibility("default"))) const chargpt::TorchModule* chargpt_torch_module_2() {
  return &chargpt::own_torch_module();
}
