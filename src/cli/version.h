// What this program is made of.
#pragma once

#include <string>

namespace chargpt {

std::string program_version();  ///< "0.1.0 (7c211ea)"
/// `chargpt --version`: version, git revision, the LibTorch it was built with, CUDA, CPU capability.
std::string version_text();

}  // namespace chargpt
