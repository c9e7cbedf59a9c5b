// The bfloat16 kernels: with whole numbers below 256, which bfloat16 holds exactly, every result is exact.
#include "kernels/bf16.h"

#include <cstring>

#include "kernels/needs_bf16.h"

using namespace chargpt;
using namespace chargpt::cpu;

namespace {

Bf16 bf16_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<Bf16>(bits >> 16);
}

/// rows x ld whole numbers from -7 to 7, with room behind.
std::vector<float> whole_numbers(long rows, long ld, long phase) {
  std::vector<float> values(static_cast<std::size_t>(rows * ld + 64));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<long>(i) * 11 + phase) % 15 - 7);
  return values;
}

long rounded_up(long n, long to) {
  return (n + to - 1) / to * to;
}

struct Problem {
  long M, N, K;
  std::vector<float> a, b;  ///< (M, K), (K, N)
  Problem(long m, long n, long k) : M(m), N(n), K(k), a(whole_numbers(m, k, 1)), b(whole_numbers(k, n, 4)) {}
  float expected(long m, long n) const {
    float sum = 0;
    for (long k = 0; k < K; ++k) sum += a[static_cast<std::size_t>(m * K + k)] * b[static_cast<std::size_t>(k * N + n)];
    return sum;
  }
  /// Entries of c (M, ldc) that are not `before` plus the product, and those behind a row that are no longer 1000.
  long wrong(const std::vector<float>& c, long ldc, float before) const {
    long count = 0;
    for (long m = 0; m < M; ++m)
      for (long n = 0; n < ldc; ++n)
        count += c[static_cast<std::size_t>(m * ldc + n)] != (n < N ? before + expected(m, n) : 1000.0F);
    return count;
  }
  std::vector<float> result(long ldc, float before) const {
    std::vector<float> c(static_cast<std::size_t>(M * ldc), 1000.0F);
    for (long m = 0; m < M; ++m)
      for (long n = 0; n < N; ++n) c[static_cast<std::size_t>(m * ldc + n)] = before;
    return c;
  }
};

std::vector<float> transposed(const std::vector<float>& x, long rows, long columns) {
  std::vector<float> y(x.size());
  for (long r = 0; r < rows; ++r)
    for (long c = 0; c < columns; ++c)
      y[static_cast<std::size_t>(c * rows + r)] = x[static_cast<std::size_t>(r * columns + c)];
  return y;
}

const std::vector<Problem> problems{{1, 1, 1}, {3, 5, 2}, {14, 32, 8}, {15, 33, 7}, {29, 17, 65}, {64, 96, 33}};

}  // namespace

TEST_CASE("rounding is to nearest, ties to even, and an odd row ends with a zero") {
  const Bf16Kernels* const kernels = needed_bf16_kernels();
  if (kernels == nullptr) return;
  const std::vector<float> x{1.0F, 1.00390625F, 1.01171875F, -2.5F, 1.005F};  // 2nd, 3rd: half way between two
  std::vector<Bf16> y(8, 77);
  kernels->to_bf16(1, 5, x.data(), 5, y.data(), 8);
  CHECK(y == std::vector<Bf16>{bf16_of(1.0F), bf16_of(1.0F), bf16_of(1.015625F), bf16_of(-2.5F), bf16_of(1.0078125F), 0,
                               77, 77});
}

TEST_CASE("bfloat16 matmuls of whole numbers are exact for any size, and touch their result alone") {
  const Bf16Kernels* const kernels = needed_bf16_kernels();
  if (kernels == nullptr) return;
  for (const Problem& p : problems) {
    INFO(p.M << " x " << p.K << " times " << p.K << " x " << p.N);
    const long lda = rounded_up(p.K, 2), pairs = 2 * kernels->panel_width, ldc = p.N + 3;
    const long panels = (p.N + kernels->panel_width - 1) / kernels->panel_width;
    std::vector<Bf16> a(static_cast<std::size_t>(p.M * lda));
    std::vector<Bf16> b(static_cast<std::size_t>(panels * pairs * ((p.K + 1) / 2)), 99);
    kernels->to_bf16(p.M, p.K, p.a.data(), p.K, a.data(), lda);
    const std::vector<float> b_transposed = transposed(p.b, p.K, p.N);
    for (const bool is_transposed : {false, true}) {
      kernels->pack(0, panels, p.K, p.N, is_transposed ? b_transposed.data() : p.b.data(), is_transposed, b.data());
      for (const bool add : {false, true}) {
        std::vector<float> c = p.result(ldc, 5);
        kernels->matmul(p.M, p.N, p.K, a.data(), lda, b.data(), pairs, (p.K + 1) / 2 * pairs, c.data(), ldc, add);
        CHECK(p.wrong(c, ldc, add ? 5.0F : 0.0F) == 0);
      }
    }
  }
}

TEST_CASE("bfloat16 matmuls with A transposed sum over rows in pairs, odd or even") {
  const Bf16Kernels* const kernels = needed_bf16_kernels();
  if (kernels == nullptr) return;
  for (const Problem& p : problems) {
    INFO(p.M << " x " << p.K << " times " << p.K << " x " << p.N);
    const long lda = 2 * rounded_up(p.M, kernels->panel_width), ldb = 2 * rounded_up(p.N, kernels->panel_width),
               ldc = p.N + 1;
    const std::vector<float> columns = transposed(p.a, p.M, p.K);  // (K, M)
    std::vector<Bf16> a(static_cast<std::size_t>((p.K + 1) / 2 * lda)),
        b(static_cast<std::size_t>((p.K + 1) / 2 * ldb));
    kernels->to_vnni(p.K, p.M, columns.data(), p.M, a.data(), lda);
    kernels->to_vnni(p.K, p.N, p.b.data(), p.N, b.data(), ldb);
    for (const bool add : {false, true}) {
      std::vector<float> c = p.result(ldc, 5);
      kernels->matmul_transposed_a(p.M, p.N, p.K, a.data(), lda, b.data(), ldb, 2 * kernels->panel_width, c.data(), ldc,
                                   add);
      CHECK(p.wrong(c, ldc, add ? 5.0F : 0.0F) == 0);
    }
  }
}
