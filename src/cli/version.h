// What this program is made of.
#pragma once

#include <cstdint>
#include <string>

namespace chargpt {

std::string program_version();              ///< "0.1.0 (7c211ea)"
std::string libtorch_version_built_with();  ///< "2.13.0"; "none"
std::uintmax_t libtorch_bytes();            ///< of its libtorch_cpu.so: another size is another LibTorch
/// `chargpt --version`: version, git revision, the LibTorch it was built with, CUDA, CPU capability.
std::string version_text();

}  // namespace chargpt
