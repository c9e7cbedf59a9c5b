#include "optimizer/sparse_adam.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "kernels/thread_team.h"
#include "model/one_order.h"
#include "optimizer/sparse_adam_rows.h"

namespace chargpt {
namespace {

using torch::Tensor;

struct Rates {
  double step, kept;
};

Rates rates(const ParameterGroup& group, std::int64_t step, const UpdateContext& context) {
  const double rate = group.learning_rate * context.lr_factor;
  return {.step = rate * std::sqrt(1 - std::pow(context.beta2, static_cast<double>(step))),
          .kept = 1 - rate * group.weight_decay};
}

void sparse_adam_on_cpu(ParameterGroup& group, std::int64_t step, const UpdateContext& context) {
  const SparseTable& table = *group.table;
  const Tensor rows = table.gradient.rows.contiguous(), gradients = table.gradient.values.contiguous();
  const TouchedRows touched({rows.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.numel())});
  if (table.has_snapshot())
    table.keep_for_snapshots(torch::tensor(touched.distinct(), torch::kInt64), group.values, group.moment2);
  const Rates by = rates(group, step, context);
  const SparseAdamFactors factors{.beta2 = static_cast<float>(context.beta2),
                                  .eps = static_cast<float>(context.eps),
                                  .step = static_cast<float>(by.step),
                                  .kept = static_cast<float>(by.kept)};
  float* const values = group.values.mutable_data_ptr<float>();
  float* const moment = group.moment2.mutable_data_ptr<float>();
  const float* const g = gradients.const_data_ptr<float>();
  constexpr std::int64_t floats_worth_a_thread = 1 << 14;
  const std::int64_t worth = (touched.size() * table.width() + floats_worth_a_thread - 1) / floats_worth_a_thread;
  const auto threads = std::min<std::int64_t>(at::get_num_threads(), worth);
  cpu::on_threads(static_cast<int>(threads), [&](int thread) {
    const std::int64_t begin = touched.size() * thread / threads, end = touched.size() * (thread + 1) / threads;
    update_rows(touched, begin, end, values, moment, g, table.width(), factors);
  });
}

/// (rows, width): row i the sum of those of `occurring` whose place is i.
Tensor summed_by_row(const Tensor& occurring, const Tensor& places, std::int64_t rows) {
  Tensor sums = torch::zeros({rows, occurring.size(1)}, occurring.options());
  const OneOrder one_order(sums.device(), /*strict=*/true);
  return sums.index_add_(0, places, occurring);
}

}  // namespace

void sparse_adam_by_operations(ParameterGroup& group, std::int64_t step, const UpdateContext& context) {
  const SparseTable& table = *group.table;
  const auto [rows, places, counts] = at::_unique2(table.gradient.rows, /*sorted=*/true, /*return_inverse=*/true);
  const Tensor gradient = summed_by_row(table.gradient.values, places, rows.size(0));
  table.keep_for_snapshots(rows, group.values, group.moment2);
  Tensor values = table.shaped(group.values), moment = table.shaped(group.moment2);
  const Tensor v = moment.index_select(0, rows).mul_(context.beta2).addcmul_(gradient, gradient, 1 - context.beta2);
  moment.index_copy_(0, rows, v);
  const Rates by = rates(group, step, context);
  values.index_copy_(
      0, rows, values.index_select(0, rows).mul_(by.kept).addcdiv_(gradient, v.sqrt().add_(context.eps), -by.step));
}

void sparse_adam(ParameterGroup& group, std::int64_t step, const UpdateContext& context) {
  if (!group.table->gradient.rows.defined()) return;
  if (group.values.is_cpu())
    sparse_adam_on_cpu(group, step, context);
  else
    sparse_adam_by_operations(group, step, context);
}

}  // namespace chargpt
