#include "parameters/row_journal.h"

namespace chargpt {

RowJournal::RowJournal(std::int64_t rows, const torch::Device& device)
    : kept_(torch::zeros({rows}, torch::TensorOptions().dtype(torch::kBool).device(device))) {}

void RowJournal::keep(const torch::Tensor& rows, const torch::Tensor& values, const torch::Tensor& moment) {
  const torch::Tensor fresh = rows.masked_select(kept_.index_select(0, rows).logical_not());
  if (fresh.numel() == 0) return;
  kept_.index_fill_(0, fresh, true);
  entries_.push_back({fresh, values.index_select(0, fresh), moment.index_select(0, fresh)});
}

void RowJournal::undo(torch::Tensor values, torch::Tensor moment) const {
  for (const Entry& entry : entries_) {
    values.index_copy_(0, entry.rows, entry.values);
    moment.index_copy_(0, entry.rows, entry.moment);
  }
}

std::vector<torch::Tensor> RowJournal::rows() const {
  std::vector<torch::Tensor> rows;
  for (const Entry& entry : entries_) rows.push_back(entry.rows);
  return rows;
}

}  // namespace chargpt
