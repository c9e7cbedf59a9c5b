#include "engine/muon.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "kernels/buffers.h"
#include "kernels/thread_team.h"

namespace chargpt::cpu {
namespace {

// The polynomial of an iteration, x -> a x + b (x x') x + c (x x')^2 x: it has the steepest slope at 0 among those that
// keep singular values near 1. Source: Jordan et al. (2024).
constexpr float a = 3.4445F, b = -4.7750F, c = 2.0315F;
constexpr int iterations = 5;
constexpr double eps = 1e-7;  ///< added to the norm that divides the first x

/// A matrix B of up to this many floats, the size of an L2 cache, is read in place; larger ones are packed into panels.
constexpr long largest_unpacked = 512 * 512;

/// Square matrices of one size in one buffer, and their matmuls. All are polynomials of one Gram matrix, so they are
/// symmetric and commute.
class SquareMatrices {
 public:
  SquareMatrices(const Kernels& kernels, long n, long larger, std::vector<float>& scratch) : k(kernels), n(n) {
    const long each = n * n + kernels.slack;
    const long panels = rounded_up(n, k.panel_width) * rounded_up(larger, k.panel_width) + kernels.slack;
    scratch.resize(static_cast<std::size_t>(4 * each + panels));
    g = scratch.data();
    p = g + each;
    q = p + each;
    spare = q + each;
    packed_ = spare + each;
  }
  /// to (M, N) += A B.
  void add_product(long M, long N, long K, const float* left, const float* right, float* to) {
    const Right panels = right_of(K, N, right);
    k.matmul(M, N, K, left, K, panels.values, panels.ld, panels.panel_stride, to, N, true);
  }
  /// to (n, n) = A B.
  void matmul(const float* left, const float* right, float* to) {
    const Right panels = right_of(n, n, right);
    by_halves(to, [&](long rows, long first, long width) {
      k.matmul(rows, width, n, left, n, panels.column(first), panels.ld, panels.panel_stride, to + first, n, false);
    });
  }
  /// g = u u', or u' u if u has more rows than columns.
  void gram(long rows, long columns, const float* u) {
    const bool wide = rows <= columns;
    const long K = std::max(rows, columns);
    const Right panels = packed(K, n, u, /*transposed=*/wide);
    const auto matmul = wide ? k.matmul : k.matmul_transposed_a;
    by_halves(g, [&](long height, long first, long width) {
      matmul(height, width, K, u, columns, panels.column(first), panels.ld, panels.panel_stride, g + first, n, false);
    });
  }
  void scale(float* x, float factor) const {
    for (long i = 0; i < n * n; ++i) x[i] *= factor;
  }
  /// p = a + b g + c g g
  void polynomial() {
    matmul(g, g, p);
    for (long i = 0; i < n * n; ++i) p[i] = b * g[i] + c * p[i];
    for (long i = 0; i < n; ++i) p[i * n + i] += a;
  }

  const Kernels& k;
  long n;
  float *g = nullptr, *p = nullptr, *q = nullptr, *spare = nullptr;

 private:
  /// The matrix B of a matmul, in place or packed.
  struct Right {
    const float* values;
    long ld, panel_stride, column_stride;
    const float* column(long first) const { return values + first * column_stride; }
  };
  Right right_of(long K, long N, const float* right) {
    if (N * K <= largest_unpacked) return {right, N, k.panel_width, 1};
    return packed(K, N, right, /*transposed=*/false);
  }
  Right packed(long K, long N, const float* right, bool transposed) {
    k.pack(0, (N + k.panel_width - 1) / k.panel_width, K, N, right, transposed, packed_);
    return {packed_, k.panel_width, K * k.panel_width, K};
  }
  /// Calls product(rows, first, width) to compute columns first to first + width - 1 of a symmetric matrix `to`, only
  /// their first `rows` rows, which end at the diagonal; mirrors the rest.
  template <class Product>
  void by_halves(float* to, const Product& product) {
    const long step = k.panel_width * std::max(1L, n / (8 * k.panel_width));
    for (long first = 0; first < n; first += step) {
      const long width = std::min(step, n - first);
      product(first + width, first, width);
      k.transpose(first, width, to + first, n, to + first * n, n);
    }
  }

  float* packed_ = nullptr;
};

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
  s.gram(rows, columns, u);
  double square = 0;  // |u|^2, the trace of g
  for (long i = 0; i < s.n; ++i) square += s.g[i * s.n + i];
  if (!(square > 0)) return;
  const double inverse = 1 / (std::sqrt(square) + eps);
  s.scale(s.g, static_cast<float>(inverse * inverse));
  newton_schulz(s);
  s.scale(s.q, static_cast<float>(factor * inverse));
  if (rows > columns)
    s.add_product(rows, columns, columns, u, s.q, values);
  else
    s.add_product(rows, columns, rows, s.q, u, values);
}

}  // namespace chargpt::cpu

namespace chargpt {
namespace {

struct Matrix {
  std::int64_t offset, rows, cols;
  double factor;
  std::int64_t work() const { return rows * cols * std::min(rows, cols); }
};

/// Sorts the largest first, so that the threads finish at about the same time.
std::vector<Matrix> matrices_of(std::span<const Parameter> parameters, double rate) {
  std::vector<Matrix> matrices;
  for (const Parameter& one : parameters)
    for (std::int64_t i = 0; i < one.stacked; ++i)
      matrices.push_back(
          {one.offset + i * one.rows() * one.shape[1], one.rows(), one.shape[1], -rate * rate_of_shape(one)});
  std::ranges::stable_sort(matrices, std::ranges::greater(), &Matrix::work);
  return matrices;
}

/// values += factor R, where R is O(u) with each row scaled to the root mean square of the lengths of its rows.
void add_equal_rows(const cpu::Kernels& kernels, const Matrix& matrix, const float* u, float* values,
                    std::vector<float>& scratch) {
  const long rows = matrix.rows, columns = matrix.cols;
  constexpr float eps = 1e-16F;  // added to the mean square of a row: zeros stay zero
  std::vector<float> step(static_cast<std::size_t>(rows * columns)), stats(static_cast<std::size_t>(2 * rows));
  cpu::add_orthogonalised(kernels, rows, columns, u, 1, step.data(), scratch);
  kernels.norm(cpu::NormKind::rmsnorm, rows, columns, step.data(), columns, nullptr, nullptr, eps, step.data(), columns,
               stats.data());
  double square = 0;  // mean over O(u)
  for (std::size_t i = 1; i < stats.size(); i += 2) square += 1 / (static_cast<double>(rows) * stats[i] * stats[i]);
  const auto scale = static_cast<float>(matrix.factor * std::sqrt(square));
  for (std::size_t i = 0; i < step.size(); ++i) values[i] += scale * step[i];
}

}  // namespace

double rate_of_shape(const Parameter& parameter) {
  return std::sqrt(std::max(1.0, static_cast<double>(parameter.rows()) / static_cast<double>(parameter.shape[1])));
}

void muon(ParameterArena& arena, const ParameterGroup& group, const UpdateContext& context) {
  const double rate = group.learning_rate * context.lr_factor;
  const cpu::Kernels& kernels = cpu::kernels();
  const cpu::NesterovFactors by{.kept = static_cast<float>(group.momentum),
                                .fresh = static_cast<float>((1 - group.momentum) * context.gradient_scale),
                                .shrunk = static_cast<float>(1 - rate * group.weight_decay)};
  const std::vector<Matrix> matrices = matrices_of(arena.parameters_of(group), rate);
  std::atomic<std::size_t> next = 0;
  cpu::on_threads(std::min(cpu::threads_in_force(), static_cast<int>(matrices.size())), [&](int /*thread*/) {
    std::vector<float> ahead, scratch;
    for (std::size_t i = next++; i < matrices.size(); i = next++) {
      const Matrix& matrix = matrices[i];
      const std::int64_t size = matrix.rows * matrix.cols, at = matrix.offset;
      ahead.resize(std::max(ahead.size(), static_cast<std::size_t>(size + kernels.slack)));
      float* const values = arena.values.data() + at;
      kernels.nesterov(by, size, arena.gradients.data() + at, values, arena.moment1.data() + at, ahead.data());
      if (group.rule == UpdateRule::muon_rows)
        add_equal_rows(kernels, matrix, ahead.data(), values, scratch);
      else
        cpu::add_orthogonalised(kernels, matrix.rows, matrix.cols, ahead.data(), matrix.factor, values, scratch);
    }
  });
}

}  // namespace chargpt
