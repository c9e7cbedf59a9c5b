// The function table of the LibTorch plug-in: main_torch.cpp exports it, and tests that link LibTorch use it directly.
// Independent of commands.
#pragma once

#include "engine/torch_module.h"

namespace chargpt {

const TorchModule& own_torch_module();

}  // namespace chargpt
