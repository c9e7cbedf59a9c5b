#include "optimizer/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/buffers.h"

namespace chargpt::cpu {
namespace {

// The polynomial of an iteration, x -> a x + b (x x') x + c (x x')^2 x: chosen for the steepest slope at 0 that leaves
// singular values near 1. Source: Jordan et al. (2024).
constexpr float a = 3.4445F, b = -4.7750F, c = 2.0315F;
constexpr int iterations = 5;
constexpr double eps = 1e-7;  ///< added to the norm that the first x is divided by

/// B is read as it lies up to this many floats, which a core's second cache holds, and else in panels.
constexpr long largest_unpacked = 512 * 512;

/// Square matrices of one size in one piece of memory, and matmuls among them.
struct SquareMatrices {
  SquareMatrices(const Kernels& kernels, long n, long larger, std::vector<float>& scratch) : k(kernels), n(n) {
    const long each = n * n + kernels.slack;
    const long panels = rounded_up(n, k.panel_width) * rounded_up(larger, k.panel_width) + kernels.slack;
    scratch.resize(static_cast<std::size_t>(4 * each + panels));
    g = scratch.data();
    p = g + each;
    q = p + each;
    spare = q + each;
    packed = spare + each;
  }
  /// to (M, N) = A B, or +=: with rows of `b` N apart, or, transposed, K.
  void product(long M, long N, long K, const float* left, const float* right, bool transposed, float* to,
               bool add) const {
    if (!transposed && N * K <= largest_unpacked)
      return k.matmul(M, N, K, left, K, right, N, k.panel_width, to, N, add);
    pack(K, N, right, transposed);
    k.matmul(M, N, K, left, K, packed, k.panel_width, K * k.panel_width, to, N, add);
  }
  void pack(long K, long N, const float* right, bool transposed) const {
    k.pack(0, (N + k.panel_width - 1) / k.panel_width, K, N, right, transposed, packed);
  }
  void matmul(const float* left, const float* right, float* to) const {
    product(n, n, n, left, right, /*transposed=*/false, to, /*add=*/false);
  }
  void scale(float* x, float factor) const {
    for (long i = 0; i < n * n; ++i) x[i] *= factor;
  }
  double trace(const float* x) const {
    double sum = 0;
    for (long i = 0; i < n; ++i) sum += x[i * n + i];
    return sum;
  }
  /// p = a + b g + c g g
  void polynomial() const {
    matmul(g, g, p);
    for (long i = 0; i < n * n; ++i) p[i] = b * g[i] + c * p[i];
    for (long i = 0; i < n; ++i) p[i * n + i] += a;
  }

  const Kernels& k;
  long n;
  float *g = nullptr, *p = nullptr, *q = nullptr, *spare = nullptr, *packed = nullptr;
};

/// g = u u', or u' u where u is taller than wide.
void gram(const SquareMatrices& s, long rows, long columns, const float* u) {
  if (rows <= columns) return s.product(s.n, s.n, columns, u, u, /*transposed=*/true, s.g, /*add=*/false);
  s.pack(rows, columns, u, /*transposed=*/false);
  s.k.matmul_transposed_a(s.n, s.n, rows, u, columns, s.packed, s.k.panel_width, rows * s.k.panel_width, s.g, s.n,
                          false);
}

/// q = the product of the polynomials of all iterations.
void newton_schulz(SquareMatrices& s) {
  for (int iteration = 0; iteration < iterations; ++iteration) {
    s.polynomial();
    if (iteration == 0) {
      std::copy_n(s.p, s.n * s.n, s.q);
    } else {
      s.matmul(s.p, s.q, s.spare);
      std::swap(s.q, s.spare);
    }
    if (iteration + 1 == iterations) return;
    s.matmul(s.p, s.g, s.spare);
    s.matmul(s.spare, s.p, s.g);
  }
}

}  // namespace

void add_orthogonalised(const Kernels& kernels, long rows, long columns, const float* u, double factor, float* values,
                        std::vector<float>& scratch) {
  SquareMatrices s(kernels, std::min(rows, columns), std::max(rows, columns), scratch);
  gram(s, rows, columns, u);
  const double square = s.trace(s.g);  // |u|^2
  if (!(square > 0)) return;
  const double inverse = 1 / (std::sqrt(square) + eps);
  s.scale(s.g, static_cast<float>(inverse * inverse));
  newton_schulz(s);
  s.scale(s.q, static_cast<float>(factor * inverse));
  if (rows > columns)
    s.product(rows, columns, columns, u, s.q, /*transposed=*/false, values, /*add=*/true);
  else
    s.product(rows, columns, rows, s.q, u, /*transposed=*/false, values, /*add=*/true);
}

}  // namespace chargpt::cpu
