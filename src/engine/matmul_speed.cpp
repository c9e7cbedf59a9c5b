#include "engine/matmul_speed.h"

#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/quantile.h"
#include "inference/dimensions.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"

/// BLAS, by which LibTorch multiplies: it exports MKL's, or another that it was built with, or none.
extern "C" __attribute__((weak)) void sgemm_(const char* of_a, const char* of_b, const int* m, const int* n,
                                             const int* k, const float* alpha, const float* a, const int* lda,
                                             const float* b, const int* ldb, const float* beta, float* c,
                                             const int* ldc);

namespace chargpt {
namespace {

namespace blas = at::native::cpublas;
using cpu::AlignedFloats;
using cpu::row_stride;

constexpr double burst_operations = 5e7;  ///< half a millisecond of a thread, or one
constexpr long brgemm_columns = 64;       ///< of B at a time, as its authors use it

/// LibTorch's threads and those of its BLAS, which one multiplication must not use.
class OneTorchThread {
 public:
  OneTorchThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  OneTorchThread(const OneTorchThread&) = delete;
  OneTorchThread& operator=(const OneTorchThread&) = delete;
  ~OneTorchThread() { at::set_num_threads(before_); }

 private:
  int before_;
};

/// Numbers between -1 and 1 that differ from row to row and column to column.
AlignedFloats some_matrix(long rows, long columns, const cpu::Kernels& kernels) {
  const long stride = row_stride(columns);
  AlignedFloats matrix(rows * stride + kernels.slack);
  for (long r = 0; r < rows; ++r)
    for (long c = 0; c < columns; ++c)
      matrix.data()[r * stride + c] = static_cast<float>((r * 31 + c * 17) % 101) / 50 - 1;
  return matrix;
}

/// One thread's matrices of one shape, and the contenders on them.
class Contest {
 public:
  explicit Contest(const MatmulShape& shape)
      : s_(shape),
        a_(some_matrix(a_rows(), a_columns(), k_)),
        a_transposed_(k_.slack + (transposed() ? s_.M * row_stride(s_.K) : 0)),
        b_(some_matrix(s_.K, s_.N, k_)),
        packed_(cpu::rounded_up(s_.N, k_.panel_width) * s_.K + k_.slack) {
    for (AlignedFloats& c : results_) c = AlignedFloats(s_.M * row_stride(s_.N) + k_.slack);
    if (transposed()) k_.transpose(s_.K, s_.M, a_.data(), row_stride(s_.M), a_transposed_.data(), row_stride(s_.K));
    const AlignedFloats plain(s_.K * s_.N + k_.slack);
    k_.copy(s_.K, s_.N, b_.data(), row_stride(s_.N), plain.data(), s_.N);
    k_.pack(0, (s_.N + k_.panel_width - 1) / k_.panel_width, s_.K, s_.N, plain.data(), false, packed_.data());
  }

  void own() const {
    float* const c = results_[0].data();
    if (transposed())
      k_.matmul_transposed_a(s_.M, s_.N, s_.K, a_.data(), row_stride(s_.M), b_.data(), row_stride(s_.N), k_.panel_width,
                             c, row_stride(s_.N), false);
    else
      k_.matmul(s_.M, s_.N, s_.K, a_.data(), row_stride(s_.K), packed_.data(), k_.panel_width, s_.K * k_.panel_width, c,
                row_stride(s_.N), false);
  }

  /// Throws what LibTorch throws where it has none for this processor.
  void brgemm() const {
    const float* const a = transposed() ? a_transposed_.data() : a_.data();
    for (long n = 0; n < s_.N; n += brgemm_columns)
      blas::brgemm(s_.M, std::min(brgemm_columns, s_.N - n), s_.K, row_stride(s_.K), row_stride(s_.N), row_stride(s_.N),
                   /*add_C=*/false, a, b_.data() + n, results_[1].data() + n);
  }

  /// Column by column, as BLAS has it: C^T = B^T A^T.
  void sgemm() const {
    const int m = static_cast<int>(s_.N), n = static_cast<int>(s_.M), k = static_cast<int>(s_.K),
              ldb = static_cast<int>(row_stride(s_.N)), lda = static_cast<int>(row_stride(a_columns()));
    const float one = 1, zero = 0;
    sgemm_("N", transposed() ? "T" : "N", &m, &n, &k, &one, b_.data(), &ldb, a_.data(), &lda, &zero, results_[2].data(),
           &ldb);
  }

  /// The largest difference of the others' results from our own, in parts of the largest number.
  double difference() const {
    double largest = 0, most = 0;
    for (long m = 0; m < s_.M; ++m)
      for (long n = 0; n < s_.N; ++n) {
        const long at = m * row_stride(s_.N) + n;
        const double own = results_[0].data()[at];
        largest = std::max(largest, std::abs(own));
        if (has_brgemm) most = std::max(most, std::abs(results_[1].data()[at] - own));
        if (has_sgemm) most = std::max(most, std::abs(results_[2].data()[at] - own));
      }
    return most / largest;
  }

  bool has_brgemm = true;
  bool has_sgemm = sgemm_ != nullptr;

 private:
  bool transposed() const { return s_.role == MatmulRole::weight_gradient; }
  long a_rows() const { return transposed() ? s_.K : s_.M; }
  long a_columns() const { return transposed() ? s_.M : s_.K; }

  MatmulShape s_;
  const cpu::Kernels& k_ = cpu::kernels();
  AlignedFloats a_, a_transposed_, b_, packed_;
  std::array<AlignedFloats, 3> results_;
};

using Contender = void (Contest::*)() const;

/// Operations a second of one burst on all threads: the sum of their rates, so that none is charged for waiting.
double burst(const std::vector<std::unique_ptr<Contest>>& contests, Contender contender, double operations) {
  const long times = std::max(1L, std::lround(burst_operations / operations));
  std::vector<double> rates(contests.size());
  cpu::on_threads(static_cast<int>(contests.size()), [&](int thread) {
    const auto i = static_cast<std::size_t>(thread);
    const double begun = steady_seconds();
    for (long time = 0; time < times; ++time) (*contests[i].*contender)();
    rates[i] = operations * static_cast<double>(times) / (steady_seconds() - begun);
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

OperationRate rate_of(const std::vector<double>& bursts) {
  return {.median = median(bursts), .best = *std::ranges::max_element(bursts)};
}

MatmulSpeed measure(const MatmulShape& shape, int threads, int rounds) {
  std::vector<std::unique_ptr<Contest>> contests;
  for (int thread = 0; thread < threads; ++thread) contests.push_back(std::make_unique<Contest>(shape));
  Contest& first = *contests.front();
  first.own();
  if (first.has_sgemm) first.sgemm();
  try {
    first.brgemm();
  } catch (const std::exception&) {
    first.has_brgemm = false;
  }
  if (const double difference = first.difference(); !(difference < 1e-4))
    throw Error(ExitCode::internal, "the matmuls of " + std::to_string(shape.M) + " x " + std::to_string(shape.N) +
                                        " x " + std::to_string(shape.K) + " differ by " + std::to_string(difference));
  const double operations =
      2 * static_cast<double>(shape.M) * static_cast<double>(shape.N) * static_cast<double>(shape.K);
  std::vector<double> own, brgemm, sgemm;
  for (int round = 0; round < rounds; ++round) {
    own.push_back(burst(contests, &Contest::own, operations));
    if (first.has_brgemm) brgemm.push_back(burst(contests, &Contest::brgemm, operations));
    if (first.has_sgemm) sgemm.push_back(burst(contests, &Contest::sgemm, operations));
  }
  MatmulSpeed speed{.shape = shape, .own = rate_of(own), .brgemm = {}, .sgemm = {}};
  if (first.has_brgemm) speed.brgemm = rate_of(brgemm);
  if (first.has_sgemm) speed.sgemm = rate_of(sgemm);
  return speed;
}

}  // namespace

std::vector<MatmulShape> step_matmuls(const ModelConfig& config, std::int64_t vocab_size, long tokens) {
  const long C = config.n_embd, A = config.n_head * head_width(config), H = mlp_width(config);
  std::vector<std::pair<long, long>> layers = {{3 * A, C}};  // out, in
  if (config.output_projection) layers.emplace_back(C, A);
  if (config.feed_forward) layers.insert(layers.end(), {{H, C}, {C, H}});
  layers.emplace_back(vocab_size, C);
  std::vector<MatmulShape> shapes;
  for (const MatmulRole role : {MatmulRole::forward, MatmulRole::input_gradient, MatmulRole::weight_gradient})
    for (const auto& [out, in] : layers) {
      const MatmulShape shape = role == MatmulRole::forward          ? MatmulShape{role, tokens, out, in}
                                : role == MatmulRole::input_gradient ? MatmulShape{role, tokens, in, out}
                                                                     : MatmulShape{role, out, in, tokens};
      if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
    }
  return shapes;
}

std::vector<MatmulSpeed> measure_matmuls(const std::vector<MatmulShape>& shapes, int threads, int rounds,
                                         const Heartbeat& heartbeat) {
  const OneTorchThread alone;
  std::vector<MatmulSpeed> speeds;
  for (const MatmulShape& shape : shapes) {
    speeds.push_back(measure(shape, threads, rounds));
    if (heartbeat) heartbeat(static_cast<double>(speeds.size()) / static_cast<double>(shapes.size()));
  }
  return speeds;
}

}  // namespace chargpt
