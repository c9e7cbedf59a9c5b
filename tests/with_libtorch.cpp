// Linked into the test programs that have LibTorch: its part of the program is here, and need not be loaded.
#include "libtorch/module.h"

[[maybe_unused]] static const bool here = (chargpt::use_torch_module(chargpt::own_torch_module()), true);
