// The version of this program and of its parts.
#pragma once

#include <string>

namespace chargpt {

std::string program_version();  ///< "0.2.0 (7c211ea)"
/// The text of `chargpt --version`: version, git revision, LibTorch, CUDA, CPU capability. Does not load LibTorch.
std::string version_text();

}  // namespace chargpt
