// The table of kernels of the instruction set that the including file is compiled for. Knows no tensor and no model.
#pragma once

#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/elementwise.h"
#include "kernels/fma_loop.h"
#include "kernels/kernels.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"
#include "kernels/qk_norm_rope.h"

namespace chargpt::cpu {
namespace {

constexpr Kernels table(const char* name) {
  return {.name = name,
          .panel = 2 * lanes,
          .slack = 4 * lanes,
          .attention_scratch = attention_scratch,
          .product = product<false>,
          .product_at = product<true>,
          .row_product = row_product,
          .narrow_row_product = narrow_row_product,
          .narrow = narrow,
          .widen = widen,
          .pack = pack,
          .norm = norm,
          .norm_backward = norm_backward,
          .curve = curve,
          .gated = gated,
          .add = add,
          .multiply = multiply,
          .copy = copy,
          .fill = fill,
          .add_rows = add_rows,
          .drop = drop,
          .turn = turn,
          .turn_backward = turn_backward,
          .attention = attention,
          .attention_backward = attention_backward,
          .attend = attend,
          .transpose = transpose,
          .cross_entropy = cross_entropy,
          .sum_buffers = sum_buffers,
          .burn = burn};
}

}  // namespace
}  // namespace chargpt::cpu
