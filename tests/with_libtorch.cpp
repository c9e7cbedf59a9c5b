// Linked into the test programs that have LibTorch: its part of the program is here, and need not be loaded.
#include "libtorch/module.h"

// Before static objects, because those of needs_cuda.h register cases if there is a GPU.
__attribute__((constructor(200))) static void use_own_module() {
  chargpt::use_torch_module(chargpt::own_torch_module());
}
