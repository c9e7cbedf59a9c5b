// The bfloat16 kernels for AVX512_BF16, compiled for it if the compiler supports it. Unlike the other kernels they use
// intrinsics: the compiler's vector types do not have a dot product of pairs.
#include "kernels/kernels.h"

#if defined(__AVX512BF16__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#include <immintrin.h>

#include "kernels/matmul_tiles.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

/// Lanes 0 to count - 1; all or none if there are not so many.
inline __mmask16 first_lanes(long count) {
  return static_cast<__mmask16>(count >= lanes ? 0xffff : count > 0 ? (1U << count) - 1 : 0);
}

using Uint16Vector = std::uint16_t __attribute__((vector_size(lanes * sizeof(std::uint16_t))));
using Uint32Vector = std::uint32_t __attribute__((vector_size(lanes * sizeof(std::uint32_t))));

/// 16 floats rounded to Bf16, each in the lower half of a 32-bit lane.
inline Uint32Vector rounded(const float* x, __mmask16 lanes_read) {
  return __builtin_convertvector((Uint16Vector)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(lanes_read, x)), Uint32Vector);
}

void to_bf16(long rows, long width, const float* x, long ldx, Bf16* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for (long i = 0; i < width; i += lanes) {
      const __mmask16 read = first_lanes(width - i), written = first_lanes((width + 1) / 2 * 2 - i);
      _mm256_mask_storeu_epi16(y + i, written, (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(read, x + i)));
    }
}

/// One row of the VNNI layout, from x and the row that follows it.
void to_vnni_row(long width, const float* x, const float* below, Bf16* y) {
  const long filled = (width + panel_width - 1) / panel_width * panel_width;
  for (long i = 0; i < filled; i += lanes) {
    const __mmask16 read = first_lanes(width - i);
    Uint32Vector pairs = rounded(x + i, read);
    if (below != nullptr) pairs |= rounded(below + i, read) << 16;
    _mm512_storeu_si512(y + 2 * i, (__m512i)pairs);
  }
}

void to_vnni(long rows, long width, const float* x, long ldx, Bf16* y, long ldy) {
  for (long r = 0; r < rows; r += 2, x += 2 * ldx, y += ldy) to_vnni_row(width, x, r + 1 < rows ? x + ldx : nullptr, y);
}

/// 16 columns of B = W^T, of which `columns` exist, from as many rows of W (N, K): pairs are adjacent in the rows of W.
void pack_transposed(long K, long columns, const float* w, Bf16* to) {
  for (long k = 0; k < K; k += 2 * lanes) {
    float pairs[lanes * lanes];  // 16 pairs of each row of W
    for (long n = 0; n < lanes; ++n) {
      const long left = n < columns ? K - k : 0;
      const __mmask16 low = first_lanes(left), high = first_lanes(left - lanes);
      const float* const row = w + (n < columns ? n * K + k : 0);
      const auto two =
          (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, row + lanes), _mm512_maskz_loadu_ps(low, row));
      _mm512_storeu_si512(pairs + n * lanes, two);
    }
    float columns_of_pairs[lanes * lanes];
    transpose_block(pairs, lanes, columns_of_pairs, lanes);
    const long depth = (K - k + 1) / 2 < lanes ? (K - k + 1) / 2 : lanes;
    for (long i = 0; i < depth; ++i)
      _mm512_storeu_ps(to + (k / 2 + i) * 2 * panel_width, _mm512_loadu_ps(columns_of_pairs + i * lanes));
  }
}

void pack(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, Bf16* packed) {
  const long rows = (K + 1) / 2;
  for (long p = first_panel; p < last_panel; ++p) {
    Bf16* const to = packed + p * rows * 2 * panel_width;
    const long begin = p * panel_width, columns = N - begin < panel_width ? N - begin : panel_width;
    if (transposed) {
      pack_transposed(K, columns, b + begin * K, to);
      const long rest = columns > lanes ? columns - lanes : 0;
      pack_transposed(K, rest, rest > 0 ? b + (begin + lanes) * K : b, to + 2 * lanes);
    } else {
      to_vnni(K, columns, b + begin, N, to, 2 * panel_width);
    }
  }
}

/// C (Rows, columns) (+)= A (Rows, 2 depth) B (2 depth, columns). `prefetch` has the stride of B.
template <int Rows, bool Transposed>
void matmul_tile(long depth, const Bf16* a, long lda, const Bf16* b, long ldb, float* c, long ldc, bool add,
                 long columns, Prefetch<Bf16> prefetch) {
  __m512 sums[Rows][2];
#pragma GCC unroll 16
  for (int m = 0; m < Rows; ++m) sums[m][0] = sums[m][1] = _mm512_setzero_ps();
  const auto* pairs = reinterpret_cast<const char*>(a);
  // One pointer for each group of three rows: an address can add an offset of up to two rows in one instruction.
  const long row = Transposed ? 4 : 2 * lda, next_k = Transposed ? 2 * lda : 4;  // in bytes; 2k and 2k + 1 together
  const char *a0 = pairs, *a1 = pairs + 3 * row, *a2 = pairs + 6 * row, *a3 = pairs + 9 * row, *a4 = pairs + 12 * row;
  const long piece = (depth + Rows - 1) / Rows;  // part of `depth` for each row of C
  const float* to = c;
  for (long k = 0; k < depth; to += ldc) {
    __builtin_prefetch(to);
    __builtin_prefetch(to + lanes);
    for (long i = 0; i < prefetch.count; ++i, prefetch.row += ldb) {
      __builtin_prefetch(prefetch.row);
      __builtin_prefetch(prefetch.row + 2 * lanes);
    }
    for (const long end = k + piece < depth ? k + piece : depth; k < end; ++k) {
      __builtin_prefetch(b + prefetch_rows * ldb);
      __builtin_prefetch(b + prefetch_rows * ldb + 2 * lanes);
      const auto left = (__m512bh)_mm512_loadu_si512(b), right = (__m512bh)_mm512_loadu_si512(b + 2 * lanes);
#pragma GCC unroll 16
      for (int m = 0; m < Rows; ++m) {
        const char* const group = m < 3 ? a0 : m < 6 ? a1 : m < 9 ? a2 : m < 12 ? a3 : a4;
        int both;
        __builtin_memcpy(&both, group + m % 3 * row, sizeof both);
        const auto of_row = (__m512bh)_mm512_set1_epi32(both);
        sums[m][0] = _mm512_dpbf16_ps(sums[m][0], left, of_row);
        sums[m][1] = _mm512_dpbf16_ps(sums[m][1], right, of_row);
      }
      a0 += next_k, a1 += next_k, a2 += next_k, a3 += next_k, a4 += next_k;
      b += ldb;
    }
  }
  const __mmask16 written[2] = {first_lanes(columns), first_lanes(columns - lanes)};
#pragma GCC unroll 16
  for (int m = 0; m < Rows; ++m)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      float* const place = c + m * ldc + v * lanes;
      if (add) sums[m][v] = _mm512_add_ps(sums[m][v], _mm512_maskz_loadu_ps(written[v], place));
      _mm512_mask_storeu_ps(place, written[v], sums[m][v]);
    }
}

using MatmulTile = void (*)(long, const Bf16*, long, const Bf16*, long, float*, long, bool, long, Prefetch<Bf16>);

template <bool Transposed>
struct MatmulTiles {
  MatmulTile of_rows[tile_rows(2)];  ///< for tiles of 1 row, 2 rows, ...
  constexpr MatmulTiles() : of_rows() { fill<tile_rows(2)>(); }
  template <int Rows>
  constexpr void fill() {
    of_rows[Rows - 1] = matmul_tile<Rows, Transposed>;
    if constexpr (Rows > 1) fill<Rows - 1>();
  }
};
template <bool Transposed>
constexpr MatmulTiles<Transposed> matmul_tiles{};

template <bool Transposed>
void matmul(long M, long N, long K, const Bf16* a, long lda, const Bf16* b, long ldb, long panel_stride, float* c,
            long ldc, bool add) {
  const long pairs = (K + 1) / 2;
  for_each_tile_of_panels<1>(
      M, N, pairs, b, ldb, panel_stride, [](long) { return tile_rows(2); },
      [&](long begin, long end, long n, long width, const Bf16* from, Prefetch<Bf16> prefetch) {
        matmul_tiles<Transposed>.of_rows[end - begin - 1](pairs, a + (Transposed ? 2 * begin : begin * lda), lda, from,
                                                          ldb, c + begin * ldc + n, ldc, add, width, prefetch);
      });
}

constexpr Bf16Kernels all_bf16{.panel_width = panel_width,
                               .to_bf16 = to_bf16,
                               .to_vnni = to_vnni,
                               .pack = pack,
                               .matmul = matmul<false>,
                               .matmul_transposed_a = matmul<true>};

}  // namespace

const Bf16Kernels* const bf16_kernels_avx512 = &all_bf16;

}  // namespace chargpt::cpu
#else
const chargpt::cpu::Bf16Kernels* const chargpt::cpu::bf16_kernels_avx512 = nullptr;
#endif
