// How fast the matmuls of a training step are on this machine, beside those of the libraries that LibTorch brings: what
// anyone runs on a processor that no table has yet. Knows no engine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/heartbeat.h"
#include "config/config.h"

namespace chargpt {

/// What a matmul C (M, N) = A (M, K) B (K, N) computes in a training step.
enum class MatmulRole { forward, input_gradient, weight_gradient };

struct MatmulShape {
  MatmulRole role = MatmulRole::forward;
  long M = 0, N = 0, K = 0;
  bool operator==(const MatmulShape&) const = default;
};

/// Floating-point operations a second, of all threads together.
struct OperationRate {
  double median = 0, best = 0;
};

struct MatmulSpeed {
  MatmulShape shape;
  OperationRate own;
  /// at::native::cpublas::brgemm (oneDNN), and BLAS's sgemm (MKL's, as a rule); none where LibTorch or this processor
  /// has none.
  std::optional<OperationRate> brgemm, sgemm;
};

/// The distinct matmuls of the linear layers of a gpt, with `tokens` rows.
std::vector<MatmulShape> step_matmuls(const ModelConfig& config, std::int64_t vocab_size, long tokens);

/// Each shape by each contender, in turns in `rounds` bursts of about a millisecond, so that a disturbance meets all.
/// `threads` multiply at the same time, each matrices of its own: in the first or second cache, rows apart as the
/// engine has them. Ours multiplies by a packed B; brgemm, which takes no transposed A, by an A that was transposed
/// before. LibTorch's own threads are set to one meanwhile. Error internal where the contenders' results differ.
std::vector<MatmulSpeed> measure_matmuls(const std::vector<MatmulShape>& shapes, int threads, int rounds,
                                         const Heartbeat& heartbeat = {});

}  // namespace chargpt
