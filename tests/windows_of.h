// Windows made from tensors, and back: what tests show engines.
#pragma once

#include <torch/types.h>

#include "kept_windows.h"

namespace chargpt {

/// A window of T for each row of `ids` (B, T + 1) int64. What it views is kept until the program ends.
inline WindowBatch windows_of(const torch::Tensor& ids) {
  const torch::Tensor flat = ids.contiguous().view(-1);
  const auto* const first = flat.const_data_ptr<std::int64_t>();
  return kept_windows({first, first + flat.numel()}, ids.size(0));
}

/// (B, T) int64
inline torch::Tensor inputs_of(const WindowBatch& windows) {
  torch::Tensor ids = torch::empty({windows.B(), windows.T}, torch::kInt64);
  windows.copy_inputs(ids.data_ptr<std::int64_t>());
  return ids;
}
inline torch::Tensor targets_of(const WindowBatch& windows) {
  torch::Tensor ids = torch::empty({windows.B(), windows.T}, torch::kInt64);
  windows.copy_targets(ids.data_ptr<std::int64_t>());
  return ids;
}

/// Of each position, (B, T).
inline torch::Tensor losses_of(WindowScorer& scorer, const WindowBatch& windows) {
  torch::Tensor losses = torch::empty({windows.B(), windows.T});
  scorer.score(windows, {losses.data_ptr<float>(), static_cast<std::size_t>(losses.numel())});
  return losses;
}

}  // namespace chargpt
