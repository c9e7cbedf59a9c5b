// C (M, N) = A (M, K) B (K, N), or +=, with A and B rounded to bfloat16 and C summed in float32, for processors with an
// instruction for it (AVX512_BF16): twice the arithmetic of float32 in the same time. Knows no tensor and no model.
#pragma once

#include <cstdint>

namespace chargpt::cpu {

/// A bfloat16: the upper half of a float.
using Bf16 = std::uint16_t;

/// An operand is one of two things. Plain rows: an even number of Bf16 each, the last one zero where the row is odd.
/// VNNI layout, what the instruction reads: rows 2k and 2k + 1 interleaved into one, (K / 2, N, 2), the last one with
/// zeros where K is odd, N filled up to whole panels with zeros.
struct Bf16Kernels {
  long panel_width;  ///< columns of a packed panel

  /// x (rows, width) -> y in plain rows, `ldy` apart, rounded to nearest, ties to even.
  void (*to_bf16)(long rows, long width, const float* x, long ldx, Bf16* y, long ldy);
  /// x (rows, width) -> y in VNNI layout, its rows `ldy` apart, which is at least twice the width in whole panels.
  void (*to_vnni)(long rows, long width, const float* x, long ldx, Bf16* y, long ldy);
  /// Panels [first, last) of B (K, N), each in VNNI layout by itself: (panels, K / 2, panel_width, 2). `transposed`: B
  /// is given as (N, K).
  void (*pack)(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, Bf16* packed);

  /// C (M, N) = A (M, K) B (K, N), or += where `add`: A in plain rows, B in VNNI layout. `panel_stride`: from one panel
  /// of B to the next.
  void (*matmul)(long M, long N, long K, const Bf16* a, long lda, const Bf16* b, long ldb, long panel_stride, float* c,
                 long ldc, bool add);
  /// C (M, N) = A^T B, or += where `add`: A (K, M) and B (K, N) in VNNI layout.
  void (*matmul_transposed_a)(long M, long N, long K, const Bf16* a, long lda, const Bf16* b, long ldb,
                              long panel_stride, float* c, long ldc, bool add);
};

/// Null where this build or this processor has none, or the limit of kernels.h leaves AVX-512 out.
const Bf16Kernels* bf16_kernels();

}  // namespace chargpt::cpu
