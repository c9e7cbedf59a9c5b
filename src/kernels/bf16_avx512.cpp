// The bfloat16 kernels for AVX512_BF16, compiled for it where the compiler can. Intrinsics, unlike the other kernels:
// no type of the compiler's stands for a product of pairs.
#include "kernels/bf16.h"

#include "kernels/kernels_by_instruction_set.h"

#if defined(__AVX512BF16__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#include <immintrin.h>

#include "kernels/matmul_tiles.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

constexpr long panel = 2 * lanes;  // columns
constexpr __mmask16 all = 0xffff;  // of 16 lanes

inline __mmask16 first(long count) {
  return count >= lanes ? all : static_cast<__mmask16>((1U << count) - 1);
}

using Halves = std::uint16_t __attribute__((vector_size(lanes * sizeof(std::uint16_t))));
using Pairs = std::uint32_t __attribute__((vector_size(lanes * sizeof(std::uint32_t))));

/// 16 floats as Half, in the lower halves of 32 bits each.
inline Pairs rounded(const float* x, __mmask16 lanes_read) {
  return __builtin_convertvector((Halves)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(lanes_read, x)), Pairs);
}

void round(long rows, long width, const float* x, long ldx, Half* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for (long i = 0; i < width; i += lanes) {
      const __mmask16 read = first(width - i), written = first((width + 1) / 2 * 2 - i);
      _mm256_mask_storeu_epi16(y + i, written, (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(read, x + i)));
    }
}

/// One row of pairs, from x and the row below it.
void pair_rows(long width, const float* x, const float* below, Half* y) {
  const long filled = (width + panel - 1) / panel * panel;
  for (long i = 0; i < filled; i += lanes) {
    const __mmask16 read = width > i ? first(width - i) : static_cast<__mmask16>(0);
    Pairs pairs = rounded(x + i, read);
    if (below != nullptr) pairs |= rounded(below + i, read) << 16;
    _mm512_storeu_si512(y + 2 * i, (__m512i)pairs);
  }
}

void pair(long rows, long width, const float* x, long ldx, Half* y, long ldy) {
  for (long r = 0; r < rows; r += 2, x += 2 * ldx, y += ldy) pair_rows(width, x, r + 1 < rows ? x + ldx : nullptr, y);
}

/// 16 columns of B = W^T, `columns` of them there, from as many rows of W (N, K): pairs stand side by side in W's rows.
void pack_transposed(long K, long columns, const float* w, Half* to) {
  for (long k = 0; k < K; k += 2 * lanes) {
    float pairs[lanes * lanes];  // of each row of W, 16
    for (long n = 0; n < lanes; ++n) {
      const long left = n < columns ? K - k : 0;
      const __mmask16 low = left > 0 ? first(left) : static_cast<__mmask16>(0);
      const __mmask16 high = left > lanes ? first(left - lanes) : static_cast<__mmask16>(0);
      const float* const row = w + (n < columns ? n * K + k : 0);
      const auto two =
          (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, row + lanes), _mm512_maskz_loadu_ps(low, row));
      _mm512_storeu_si512(pairs + n * lanes, two);
    }
    float turned[lanes * lanes];
    transpose_square(pairs, lanes, turned, lanes);
    const long depth = (K - k + 1) / 2 < lanes ? (K - k + 1) / 2 : lanes;
    for (long i = 0; i < depth; ++i)
      _mm512_storeu_ps(to + (k / 2 + i) * 2 * panel, _mm512_loadu_ps(turned + i * lanes));
  }
}

void pack(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, Half* packed) {
  const long rows = (K + 1) / 2;
  for (long p = first_panel; p < last_panel; ++p) {
    Half* const to = packed + p * rows * 2 * panel;
    const long begin = p * panel, columns = N - begin < panel ? N - begin : panel;
    if (transposed) {
      pack_transposed(K, columns, b + begin * K, to);
      const long rest = columns > lanes ? columns - lanes : 0;
      pack_transposed(K, rest, rest > 0 ? b + (begin + lanes) * K : b, to + 2 * lanes);
    } else {
      pair(K, columns, b + begin, N, to, 2 * panel);
    }
  }
}

/// C (Rows, columns) (+)= A (Rows, 2 depth) B (2 depth, columns). `soon` has B's stride.
template <int Rows, bool Transposed>
void product_tile(long depth, const Half* a, long lda, const Half* b, long ldb, float* c, long ldc, bool add,
                  long columns, Soon<Half> soon) {
  __m512 sums[Rows][2];
#pragma GCC unroll 16
  for (int m = 0; m < Rows; ++m) sums[m][0] = sums[m][1] = _mm512_setzero_ps();
  const auto* pairs = reinterpret_cast<const char*>(a);
  // Rows in groups of three, each with a pointer of its own: what an address can add in one instruction.
  const long row = Transposed ? 4 : 2 * lda, step = Transposed ? 2 * lda : 4;
  const char *a0 = pairs, *a1 = pairs + 3 * row, *a2 = pairs + 6 * row, *a3 = pairs + 9 * row, *a4 = pairs + 12 * row;
  const long piece = (depth + Rows - 1) / Rows;  // of depth, for each row of C
  const float* to = c;
  for (long k = 0; k < depth; to += ldc) {
    __builtin_prefetch(to);
    __builtin_prefetch(to + lanes);
    for (long i = 0; i < soon.count; ++i, soon.row += ldb) {
      __builtin_prefetch(soon.row);
      __builtin_prefetch(soon.row + 2 * lanes);
    }
    for (const long end = k + piece < depth ? k + piece : depth; k < end; ++k) {
      __builtin_prefetch(b + rows_ahead * ldb);
      __builtin_prefetch(b + rows_ahead * ldb + 2 * lanes);
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
      a0 += step, a1 += step, a2 += step, a3 += step, a4 += step;
      b += ldb;
    }
  }
  const __mmask16 written[2] = {first(columns), columns > lanes ? first(columns - lanes) : static_cast<__mmask16>(0)};
#pragma GCC unroll 16
  for (int m = 0; m < Rows; ++m)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      float* const place = c + m * ldc + v * lanes;
      if (add) sums[m][v] = _mm512_add_ps(sums[m][v], _mm512_maskz_loadu_ps(written[v], place));
      _mm512_mask_storeu_ps(place, written[v], sums[m][v]);
    }
}

using Tile = void (*)(long, const Half*, long, const Half*, long, float*, long, bool, long, Soon<Half>);

template <bool Transposed>
struct Tiles {
  Tile of[tile_rows];  ///< one for each number of rows from 1 on
  constexpr Tiles() : of() { fill<tile_rows>(); }
  template <int Rows>
  constexpr void fill() {
    of[Rows - 1] = product_tile<Rows, Transposed>;
    if constexpr (Rows > 1) fill<Rows - 1>();
  }
};
template <bool Transposed>
constexpr Tiles<Transposed> tiles{};

template <bool Transposed>
void product(long rows, long columns, long depth, const Half* a, long lda, const Half* b, long ldb, long panel_stride,
             float* c, long ldc, bool add) {
  const long pairs = (depth + 1) / 2;
  for_each_tile_of_panels(
      rows, columns, pairs, b, ldb, panel_stride, [&](long begin, long end, long n, const Half* from, Soon<Half> soon) {
        const long width = columns - n < panel ? columns - n : panel;
        tiles<Transposed>.of[end - begin - 1](pairs, a + (Transposed ? 2 * begin : begin * lda), lda, from, ldb,
                                              c + begin * ldc + n, ldc, add, width, soon);
      });
}

constexpr HalfKernels all_half{
    .panel = panel, .round = round, .pair = pair, .pack = pack, .product = product<false>, .product_at = product<true>};

}  // namespace

const HalfKernels* half_kernels_avx512() {
  return &all_half;
}

}  // namespace chargpt::cpu
#else
const chargpt::cpu::HalfKernels* chargpt::cpu::half_kernels_avx512() {
  return nullptr;
}
#endif
