#include "compute/cpu/kernels.h"

#include "compute/cpu/kernels_of.h"

namespace chargpt::cpu {
namespace {

#if defined(__x86_64__)
bool runs_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
bool runs_v4() {
  return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
bool runs_v3() {
  return false;
}
bool runs_v4() {
  return false;
}
#endif

}  // namespace

std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> all;
  if (runs_v4() && kernels_v4() != nullptr) all.push_back(kernels_v4());
  if (runs_v3() && kernels_v3() != nullptr) all.push_back(kernels_v3());
  all.push_back(kernels_portable());
  return all;
}

const Kernels& kernels() {
  static const Kernels& widest = *all_kernels().front();
  return widest;
}

}  // namespace chargpt::cpu
