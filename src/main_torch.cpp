// LibTorch's part of the program: a library of its own, chargpt-torch.so, which is loaded where an engine or a device
// asks for it.
#include "libtorch/module.h"

extern "C" __attribute__((visibility("default"))) const chargpt::TorchModule* chargpt_torch_module_1() {
  return &chargpt::own_torch_module();
}
