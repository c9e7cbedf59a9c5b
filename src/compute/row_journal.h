// What rows of a table were before they changed, so that a few steps can be undone without a copy of the table. Knows
// no rule and no arena.
#pragma once

#include <torch/types.h>

#include <vector>

namespace chargpt {

class RowJournal {
 public:
  /// Of a table of `rows` rows, whose second moment there is, or not yet.
  RowJournal(std::int64_t rows, bool has_moment, const torch::Device& device);
  bool has_moment() const { return has_moment_; }
  /// Copies those of `rows` (n,) int64, distinct, that were not kept before. `values` and, where there is one, `moment`
  /// (all rows, width).
  void keep(const torch::Tensor& rows, const torch::Tensor& values, const torch::Tensor& moment);
  /// Puts everything kept back; `moment` is left alone where there was none.
  void undo(torch::Tensor values, torch::Tensor moment) const;

 private:
  struct Entry {
    torch::Tensor rows, values, moment;
  };
  bool has_moment_;
  torch::Tensor kept_;  ///< (all rows,) bool
  std::vector<Entry> entries_;
};

}  // namespace chargpt
