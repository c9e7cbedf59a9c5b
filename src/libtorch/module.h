// The library that links LibTorch, as a table: what main_torch.cpp exports, and tests that link it use at once. Knows
// no command.
#pragma once

#include "engine/torch_module.h"

namespace chargpt {

const TorchModule& own_torch_module();

}  // namespace chargpt
