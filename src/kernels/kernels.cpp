#include "kernels/kernels.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/kernels_by_instruction_set.h"

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
bool runs_bf16() {
  return runs_v4() && __builtin_cpu_supports("avx512bf16");
}
#else
bool runs_v3() {
  return false;
}
bool runs_v4() {
  return false;
}
bool runs_bf16() {
  return false;
}
#endif

}  // namespace

std::optional<InstructionSet> named_instruction_set(std::string_view word) {
  if (word == "default") return InstructionSet::portable;
  if (word == "avx2") return InstructionSet::avx2;
  if (word == "avx512") return InstructionSet::avx512;
  return std::nullopt;
}

InstructionSet processor_instruction_set() {
  return runs_v4() ? InstructionSet::avx512 : runs_v3() ? InstructionSet::avx2 : InstructionSet::portable;
}

InstructionSet instruction_set() {
  static const InstructionSet in_force = [] {
    const char* const word = std::getenv("ATEN_CPU_CAPABILITY");
    const InstructionSet limit = named_instruction_set(word != nullptr ? word : "").value_or(InstructionSet::avx512);
    return std::min(limit, processor_instruction_set());
  }();
  return in_force;
}

std::vector<const Kernels*> kernels_up_to(InstructionSet widest) {
  std::vector<const Kernels*> all;
  if (widest >= InstructionSet::avx512 && kernels_v4() != nullptr) all.push_back(kernels_v4());
  if (widest >= InstructionSet::avx2 && kernels_v3() != nullptr) all.push_back(kernels_v3());
  all.push_back(kernels_portable());
  return all;
}

std::vector<const Kernels*> all_kernels() {
  return kernels_up_to(instruction_set());
}

const Kernels& kernels() {
  static const Kernels& widest = *all_kernels().front();
  return widest;
}

const Bf16Kernels* bf16_kernels() {
  return instruction_set() == InstructionSet::avx512 && runs_bf16() ? bf16_kernels_avx512() : nullptr;
}

}  // namespace chargpt::cpu
