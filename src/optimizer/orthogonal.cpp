#include "optimizer/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "optimizer/muon_polynomial.h"

namespace chargpt::cpu {
namespace {

/// Square matrices of one size in one piece of memory, and matmuls among them.
struct SquareMatrices {
  SquareMatrices(const Kernels& kernels, long n, long more, std::vector<float>& scratch) : k(kernels), n(n) {
    const long each = n * n + kernels.slack;
    scratch.resize(static_cast<std::size_t>(4 * each + more));
    g = scratch.data();
    p = g + each;
    q = p + each;
    spare = q + each;
    packed_u = spare + each;
  }
  void matmul(const float* a, const float* b, float* c) const {
    k.matmul(n, n, n, a, n, b, n, k.panel_width, c, n, false);
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
    constexpr auto a = static_cast<float>(muon_a), b = static_cast<float>(muon_b), c = static_cast<float>(muon_c);
    matmul(g, g, p);
    for (long i = 0; i < n * n; ++i) p[i] = b * g[i] + c * p[i];
    for (long i = 0; i < n; ++i) p[i * n + i] += a;
  }

  const Kernels& k;
  long n;
  float *g = nullptr, *p = nullptr, *q = nullptr, *spare = nullptr, *packed_u = nullptr;
};

/// g = u u', or u' u where u is taller than wide.
void gram(const SquareMatrices& s, long rows, long columns, const float* u) {
  const Kernels& k = s.k;
  if (rows > columns) {
    k.matmul_transposed_a(s.n, s.n, rows, u, columns, u, columns, k.panel_width, s.g, s.n, false);
    return;
  }
  k.pack(0, (rows + k.panel_width - 1) / k.panel_width, columns, rows, u, /*transposed=*/true, s.packed_u);
  k.matmul(s.n, s.n, columns, u, columns, s.packed_u, k.panel_width, columns * k.panel_width, s.g, s.n, false);
}

/// q = the product of the polynomials of all iterations.
void newton_schulz(SquareMatrices& s) {
  for (int iteration = 0; iteration < muon_steps; ++iteration) {
    s.polynomial();
    if (iteration == 0) {
      std::copy_n(s.p, s.n * s.n, s.q);
    } else {
      s.matmul(s.p, s.q, s.spare);
      std::swap(s.q, s.spare);
    }
    if (iteration + 1 == muon_steps) return;
    s.matmul(s.p, s.g, s.spare);
    s.matmul(s.spare, s.p, s.g);
  }
}

}  // namespace

void add_orthogonalised(const Kernels& kernels, long rows, long columns, const float* u, double factor, float* values,
                        std::vector<float>& scratch) {
  const long packed =
      (rows + kernels.panel_width - 1) / kernels.panel_width * kernels.panel_width * columns + kernels.slack;
  SquareMatrices s(kernels, std::min(rows, columns), rows > columns ? 0 : packed, scratch);
  gram(s, rows, columns, u);
  const double square = s.trace(s.g);  // |u|^2
  if (!(square > 0)) return;
  const double inverse = 1 / (std::sqrt(square) + muon_eps);
  s.scale(s.g, static_cast<float>(inverse * inverse));
  newton_schulz(s);
  s.scale(s.q, static_cast<float>(factor * inverse));
  if (rows > columns)
    kernels.matmul(rows, columns, columns, u, columns, s.q, columns, kernels.panel_width, values, columns, true);
  else
    kernels.matmul(rows, columns, rows, s.q, rows, u, columns, kernels.panel_width, values, columns, true);
}

}  // namespace chargpt::cpu
