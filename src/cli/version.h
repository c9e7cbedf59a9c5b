// What this program is made of.
#pragma once

#include <string>

namespace chargpt {

std::string program_version();  ///< "0.2.0 (7c211ea)"
/// `chargpt --version`: version, git revision, the LibTorch of its other part, CUDA, CPU capability. Loads nothing.
std::string version_text();

}  // namespace chargpt
