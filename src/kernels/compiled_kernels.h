// All kernels, compiled for the instruction set of the including file.
#pragma once

#include "kernels/attention.h"
#include "kernels/kernels.h"
#include "kernels/matmul.h"
#include "kernels/rows.h"
#include "kernels/updates.h"

namespace chargpt::cpu {
namespace {

constexpr Kernels compiled_kernels(const char* name) {
  return {
      name,
      panel_width,
      4 * lanes,
      attention_scratch,
#define KERNEL(result, name, parameters) name,
#include "kernels/kernel_list.h"
#undef KERNEL
  };
}

}  // namespace
}  // namespace chargpt::cpu
