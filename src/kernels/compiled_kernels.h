// All kernels, compiled for the instruction set of the including file. Knows no tensor and no model.
#pragma once

#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/convolution.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/elementwise.h"
#include "kernels/fma_loop.h"
#include "kernels/kernels.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"
#include "kernels/qk_norm_rope.h"
#include "kernels/updates.h"

namespace chargpt::cpu {
namespace {

constexpr Kernels compiled_kernels(const char* name) {
  return {.name = name,
          .panel_width = panel_width,
          .slack = 4 * lanes,
          .attention_scratch = attention_scratch,
          .matmul = matmul<false>,
          .matmul_transposed_a = matmul<true>,
          .matvec = matvec,
          .pack = pack,
          .norm = norm,
          .norm_backward = norm_backward,
          .activation = activation,
          .swiglu = swiglu,
          .add = add,
          .multiply = multiply,
          .copy = copy,
          .broadcast_row = broadcast_row,
          .add_column_sums = add_column_sums,
          .sum_buffers = sum_buffers,
          .convolve = convolve,
          .convolve_backward = convolve_backward,
          .dropout = dropout,
          .qk_norm_rope = qk_norm_rope,
          .qk_norm_rope_backward = qk_norm_rope_backward,
          .attention = attention,
          .attention_backward = attention_backward,
          .transpose = transpose,
          .cross_entropy = cross_entropy,
          .mix_targets = mix_targets,
          .add_softmax = add_softmax,
          .adamw = adamw,
          .nesterov = nesterov,
          .lerp = lerp,
          .fma_loop = fma_loop};
}

}  // namespace
}  // namespace chargpt::cpu
