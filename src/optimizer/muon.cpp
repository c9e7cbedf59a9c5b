#include "optimizer/muon.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/thread_team.h"
#include "optimizer/orthogonal.h"

namespace chargpt {
namespace {

struct Matrix {
  std::int64_t offset, rows, cols;
  double factor;
  std::int64_t work() const { return rows * cols * std::min(rows, cols); }
};

/// The largest first, so that threads that take turns end at about the same time.
std::vector<Matrix> matrices_of(const ParameterGroup& group, double rate) {
  std::vector<Matrix> matrices;
  for (const ParameterSlot& slot : group.slots)
    for (std::int64_t i = 0; i < slot.stacked; ++i)
      matrices.push_back(
          {slot.offset + i * rows_of(slot) * slot.shape[1], rows_of(slot), slot.shape[1], -rate * rate_of_shape(slot)});
  std::ranges::stable_sort(matrices, std::ranges::greater(), &Matrix::work);
  return matrices;
}

}  // namespace

std::int64_t rows_of(const ParameterSlot& slot) {
  return slot.shape[0] / slot.stacked;
}

double rate_of_shape(const ParameterSlot& slot) {
  return std::sqrt(std::max(1.0, static_cast<double>(rows_of(slot)) / static_cast<double>(slot.shape[1])));
}

void muon(ParameterGroup& group, std::int64_t /*step*/, const UpdateContext& context) {
  const double rate = group.learning_rate * context.lr_factor;
  const cpu::Kernels& kernels = cpu::kernels();
  const cpu::NesterovFactors by{.kept = static_cast<float>(group.momentum),
                                .fresh = static_cast<float>((1 - group.momentum) * context.gradient_scale),
                                .shrunk = static_cast<float>(1 - rate * group.weight_decay)};
  const std::vector<Matrix> matrices = matrices_of(group, rate);
  std::atomic<std::size_t> next = 0;
  cpu::on_threads(std::min(cpu::threads_in_force(), static_cast<int>(matrices.size())), [&](int /*thread*/) {
    std::vector<float> ahead, scratch;
    for (std::size_t i = next++; i < matrices.size(); i = next++) {
      const Matrix& matrix = matrices[i];
      const std::int64_t size = matrix.rows * matrix.cols, at = matrix.offset;
      ahead.resize(std::max(ahead.size(), static_cast<std::size_t>(size + kernels.slack)));
      float* const values = group.values.data() + at;
      kernels.nesterov(by, size, group.gradients.data() + at, values, group.moment1.data() + at, ahead.data());
      cpu::add_orthogonalised(kernels, matrix.rows, matrix.cols, ahead.data(), matrix.factor, values, scratch);
    }
  });
}

}  // namespace chargpt
