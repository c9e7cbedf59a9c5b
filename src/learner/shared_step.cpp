#include "learner/shared_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chargpt {
namespace {

void sum_dense(Communicator& ranks, torch::Tensor& gradients) {
  torch::Tensor here = gradients.cpu();
  ranks.sum({here.mutable_data_ptr<float>(), static_cast<std::size_t>(here.numel())});
  if (!gradients.is_cpu()) gradients.copy_(here);
}

template <class Value>
torch::Tensor joined_values(Communicator& ranks, const torch::Tensor& own, torch::ScalarType type) {
  const torch::Tensor here = own.cpu().contiguous();
  const std::vector<Value> all =
      gathered<Value>(ranks, std::span(here.const_data_ptr<Value>(), static_cast<std::size_t>(here.numel())));
  const torch::Tensor joined = torch::empty({std::ssize(all)}, type);
  std::ranges::copy(all, joined.mutable_data_ptr<Value>());
  return joined.to(own.device());
}

/// The gradients of all tables' rows. Tables that are summed share one tensor of values, which goes round once.
class RowJoiner {
 public:
  explicit RowJoiner(Communicator& ranks) : ranks_(ranks) {}

  /// A rank may have touched none, and then has no tensors.
  void join(SparseTable& table, const torch::Device& device) {
    RowGradient own = table.gradient;
    if (!own.rows.defined()) own.rows = torch::empty({0}, torch::TensorOptions(torch::kInt64).device(device));
    if (!own.values.defined()) own.values = torch::empty({0, table.width()}, torch::TensorOptions(device));
    if (!last_.defined() || own.values.const_data_ptr() != last_.const_data_ptr()) {
      last_ = own.values;
      joined_ = joined_values<float>(ranks_, own.values, torch::kFloat32).view({-1, table.width()});
    }
    table.gradient = {.rows = joined_values<std::int64_t>(ranks_, own.rows, torch::kInt64), .values = joined_};
  }

 private:
  Communicator& ranks_;
  torch::Tensor last_, joined_;
};

}  // namespace

WindowShare share_of(const Communicator& ranks, std::int64_t batch_size) {
  if (ranks.alone()) return {};
  return {.first = part_of(batch_size, ranks.ranks(), ranks.rank()).begin, .all = batch_size};
}

Gradients summed(Communicator& ranks, ParameterArena& arena, const Gradients& part) {
  const torch::NoGradGuard no_grad;
  RowJoiner rows(ranks);
  for (ParameterGroup& group : arena.groups())
    group.table ? rows.join(*group.table, group.values.device()) : sum_dense(ranks, group.gradients);
  const std::vector<double> losses = gathered(ranks, part.loss);
  Gradients whole{.loss = std::accumulate(losses.begin(), losses.end(), 0.0),
                  .norm = arena.gradient_norm().item<double>()};
  const auto row_norm = arena.row_gradient_norm().item<double>();
  whole.finite = std::isfinite(whole.loss) && std::isfinite(whole.norm) && std::isfinite(row_norm);
  return whole;
}

void SharedScorer::score(const WindowBatch& windows, std::span<float> losses) {
  if (ranks_.alone()) return own_.score(windows, losses);
  const Part part = part_of(windows.B(), ranks_.ranks(), ranks_.rank());
  std::vector<float> own(static_cast<std::size_t>(part.size * windows.T));
  if (part.size > 0) own_.score(windows.part(part.begin, part.size), own);
  std::ranges::copy(gathered<float>(ranks_, own), losses.begin());
}

}  // namespace chargpt
