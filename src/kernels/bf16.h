// C (M, N) = A (M, K) B (K, N), or +=, with A and B rounded to bfloat16 and C summed in float32, for processors with an
// instruction for it (AVX512_BF16): twice the arithmetic of float32 in the same time. Knows no tensor and no model.
#pragma once

#include <cstdint>

namespace chargpt::cpu {

/// The upper half of a float.
using Half = std::uint16_t;

/// Operands of these products: `rounded` ones are rows of Half with an even number of them, the last one zero where the
/// row is odd; `paired` ones hold two rows as one row of pairs, (K / 2, N, 2), the last one with zeros where K is odd,
/// N filled up to whole panels with zeros.
struct HalfKernels {
  long panel;  ///< columns of a packed panel

  /// To nearest, ties to even: x (rows, width) -> y rounded, rows `ldy` apart.
  void (*round)(long rows, long width, const float* x, long ldx, Half* y, long ldy);
  /// x (rows, width) -> y paired, rows of pairs `ldy` apart, which is at least twice the width in whole panels.
  void (*pair)(long rows, long width, const float* x, long ldx, Half* y, long ldy);
  /// Panels [first, last) of B (K, N), each paired by itself: (panels, K / 2, panel, 2). `transposed`: B is given as
  /// (N, K).
  void (*pack)(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, Half* packed);

  /// C (M, N) = A (M, K) B (K, N), or += where `add`: A rounded, B paired. `panel_stride`: from one panel of B to the
  /// next.
  void (*product)(long M, long N, long K, const Half* a, long lda, const Half* b, long ldb, long panel_stride, float* c,
                  long ldc, bool add);
  /// The same with A (K, M) paired, and transposed by the product.
  void (*product_at)(long M, long N, long K, const Half* a, long lda, const Half* b, long ldb, long panel_stride,
                     float* c, long ldc, bool add);
};

/// Null where this build or this processor has none, or the limit of kernels.h leaves AVX-512 out.
const HalfKernels* half_kernels();

}  // namespace chargpt::cpu
