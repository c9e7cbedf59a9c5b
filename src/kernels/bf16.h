// C (M, N) = A (M, K) B (K, N), or +=, with A and B rounded to bfloat16 and C summed in float32, for processors with
// AVX512_BF16: twice the float32 operations in the same time. Independent of tensors and models.
#pragma once

#include <cstdint>

namespace chargpt::cpu {

/// A bfloat16: the upper half of a float.
using Bf16 = std::uint16_t;

/// An operand has one of two layouts. Plain rows: an even number of Bf16 each; if the row is odd, the last one is zero.
/// VNNI layout, the input of the instruction: rows 2k and 2k + 1 are interleaved, (K / 2, N, 2); if K is odd, the last
/// row is paired with zeros; N is padded with zeros to whole panels.
struct Bf16Kernels {
  long panel_width;  ///< columns of a packed panel

  /// Rounds x (rows, width) to y in plain rows with stride `ldy`: to nearest, ties to even.
  void (*to_bf16)(long rows, long width, const float* x, long ldx, Bf16* y, long ldy);
  /// Rounds x (rows, width) to y in VNNI layout with row stride `ldy`, at least twice the width in whole panels.
  void (*to_vnni)(long rows, long width, const float* x, long ldx, Bf16* y, long ldy);
  /// Packs panels [first, last) of B (K, N), each in VNNI layout by itself: (panels, K / 2, panel_width, 2).
  /// `transposed`: B is stored as (N, K).
  void (*pack)(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, Bf16* packed);

  /// C (M, N) = A (M, K) B (K, N), or += if `add`: A in plain rows, B in VNNI layout. `panel_stride`: distance in Bf16
  /// between two panels of B.
  void (*matmul)(long M, long N, long K, const Bf16* a, long lda, const Bf16* b, long ldb, long panel_stride, float* c,
                 long ldc, bool add);
  /// C (M, N) = A^T B, or += if `add`: A (K, M) and B (K, N) in VNNI layout.
  void (*matmul_transposed_a)(long M, long N, long K, const Bf16* a, long lda, const Bf16* b, long ldb,
                              long panel_stride, float* c, long ldc, bool add);
};

/// Returns null if this build or this processor lacks them, or if instruction_set() is not avx512.
const Bf16Kernels* bf16_kernels();

}  // namespace chargpt::cpu
