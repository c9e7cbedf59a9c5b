// Cases that need the bfloat16 kernels. Where they are not in force such a case ends at once, in a line that
// scripts/test.sh counts.
#pragma once

#include <cstdio>

#include "kernels/bf16.h"

#include "test.h"

namespace chargpt {

/// Null, and said so, where there are none.
inline const cpu::Bf16Kernels* needed_bf16_kernels() {
  if (cpu::bf16_kernels() != nullptr) return cpu::bf16_kernels();
  const std::string name(Catch::getResultCapture().getCurrentTestName());
  std::printf("skipped because processor, build or ATEN_CPU_CAPABILITY leave out AVX512_BF16: %s\n", name.c_str());
  return nullptr;
}

}  // namespace chargpt
