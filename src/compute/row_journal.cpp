#include "compute/row_journal.h"

namespace chargpt {

RowJournal::RowJournal(std::int64_t rows, bool has_moment, const torch::Device& device)
    : has_moment_(has_moment), kept_(torch::zeros({rows}, torch::TensorOptions().dtype(torch::kBool).device(device))) {}

void RowJournal::keep(const torch::Tensor& rows, const torch::Tensor& values, const torch::Tensor& moment) {
  const torch::Tensor fresh = rows.masked_select(kept_.index_select(0, rows).logical_not());
  kept_.index_fill_(0, fresh, true);
  entries_.push_back(
      {fresh, values.index_select(0, fresh), has_moment_ ? moment.index_select(0, fresh) : torch::Tensor()});
}

void RowJournal::undo(torch::Tensor values, torch::Tensor moment) const {
  for (const Entry& entry : entries_) {
    values.index_copy_(0, entry.rows, entry.values);
    if (has_moment_) moment.index_copy_(0, entry.rows, entry.moment);
  }
}

}  // namespace chargpt
