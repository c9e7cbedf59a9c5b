#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace chargpt::cpu {
namespace {

/// Instruction sets of our kernels that the processor has and whose registers the system saves for each thread.
struct Features {
  bool v3 = false, v4 = false, bf16 = false;
};

#if defined(__x86_64__)
/// Uses cpuid: some compilers' libraries lack __builtin_cpu_supports. Source: Intel's manual, volume 2, CPUID.
Features processor_features() {
  constexpr unsigned fma = 1U << 12, osxsave = 1U << 27, ymm = 0x06, zmm = 0xe6;     // leaf 1, ecx; xcr0
  constexpr unsigned avx2 = 1U << 5 | 1U << 8, bf16 = 1U << 5;                       // leaf 7, ebx: with bmi2; eax
  constexpr unsigned avx512 = 1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;  // f, dq, cd, bw, vl
  const auto has = [](unsigned bits, unsigned all) { return (bits & all) == all; };
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || !has(ecx, fma | osxsave)) return {};
  unsigned kept = 0, high = 0;
  asm("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || !has(kept, ymm) || !has(ebx, avx2)) return {};
  if (!has(kept, zmm) || !has(ebx, avx512)) return {.v3 = true};
  const bool more = eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0;
  return {.v3 = true, .v4 = true, .bf16 = more && has(eax, bf16)};
}
#else
Features processor_features() {
  return {};
}
#endif

const Features& features() {
  static const Features here = processor_features();
  return here;
}

}  // namespace

DropoutMask dropout_mask(double rate, std::uint64_t seed, std::uint32_t layer) {
  return {.key = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
          .layer = layer,
          .threshold = static_cast<std::uint64_t>(std::ldexp(rate, 32)),
          .scale = static_cast<float>(1.0 / (1.0 - rate))};
}

std::optional<InstructionSet> named_instruction_set(std::string_view word) {
  if (word == "default") return InstructionSet::portable;
  if (word == "avx2") return InstructionSet::avx2;
  if (word == "avx512") return InstructionSet::avx512;
  return std::nullopt;
}

InstructionSet processor_instruction_set() {
  return features().v4 ? InstructionSet::avx512 : features().v3 ? InstructionSet::avx2 : InstructionSet::portable;
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
  if (widest >= InstructionSet::avx512 && kernels_v4 != nullptr) all.push_back(kernels_v4);
  if (widest >= InstructionSet::avx2 && kernels_v3 != nullptr) all.push_back(kernels_v3);
  all.push_back(kernels_portable);
  return all;
}

const Kernels& kernels() {
  static const Kernels& widest = *kernels_up_to(instruction_set()).front();
  return widest;
}

const Bf16Kernels* bf16_kernels() {
  return instruction_set() == InstructionSet::avx512 && features().bf16 ? bf16_kernels_avx512 : nullptr;
}

}  // namespace chargpt::cpu
