// A table of which a step reads and writes only the rows that it touches: their gradients, and what snapshots keep of
// them. Knows no update rule and no arena.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "parameters/row_journal.h"

namespace chargpt {

/// What a step asks of a table's rows: those it touched and their gradients.
struct RowGradient {
  torch::Tensor rows;    ///< (n,) int64 in any order, may repeat; undefined: no row was touched
  torch::Tensor values;  ///< (n, width) float32: a row's gradient is the sum over its occurrences
};

/// The buffers, the table's values and its second moments, belong to its group: (rows * width,) each.
class SparseTable {
 public:
  /// `parameter`: the model's own (rows, width), where autograd leaves a gradient.
  explicit SparseTable(torch::Tensor parameter);

  std::int64_t rows() const { return parameter_.size(0); }
  std::int64_t width() const { return parameter_.size(1); }
  /// (rows, width), a view.
  torch::Tensor shaped(const torch::Tensor& buffer) const { return buffer.view({rows(), width()}); }

  /// Zero for all rows.
  void clear_gradient();
  /// Takes what autograd has left, if anything. False where that is a gradient of every row: the table was used as a
  /// matrix too.
  bool take_gradient_of_autograd();

  /// Whether a snapshot is held; and what whoever changes rows (int64, distinct) calls first, so that snapshots keep
  /// what these were.
  bool has_snapshot() const;
  void keep_for_snapshots(const torch::Tensor& rows, const torch::Tensor& values, const torch::Tensor& moment2) const;
  /// Begins a snapshot, which is held as long as the journal is.
  std::shared_ptr<RowJournal> start_journal();
  /// Puts back what `journal` keeps; other snapshots that are held see the rows change as in an update.
  void undo(const RowJournal& journal, const torch::Tensor& values, const torch::Tensor& moment2) const;

  /// The engine fills this in each step; one of autograd by take_gradient_of_autograd().
  RowGradient gradient;

 private:
  torch::Tensor parameter_;
  std::vector<std::weak_ptr<RowJournal>> journals_;
};

}  // namespace chargpt
