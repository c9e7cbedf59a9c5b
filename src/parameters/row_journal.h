// What rows of a table were before they changed, so that a few steps can be undone without a copy of the table. Knows
// no rule and no arena.
#pragma once

#include <torch/types.h>

#include <vector>

namespace chargpt {

class RowJournal {
 public:
  /// Of a table of `rows` rows.
  RowJournal(std::int64_t rows, const torch::Device& device);
  /// Copies those of `rows` (n,) int64, distinct, that were not kept before; `values` and `moment` (all rows, width).
  void keep(const torch::Tensor& rows, const torch::Tensor& values, const torch::Tensor& moment);
  /// Puts everything kept back.
  void undo(torch::Tensor values, torch::Tensor moment) const;
  /// What undo() will change: each (n,) int64.
  std::vector<torch::Tensor> rows() const;

 private:
  struct Entry {
    torch::Tensor rows, values, moment;
  };
  torch::Tensor kept_;  ///< (all rows,) bool
  std::vector<Entry> entries_;
};

}  // namespace chargpt
