#include "parameters/sparse_table.h"

#include <algorithm>
#include <utility>

namespace chargpt {

SparseTable::SparseTable(torch::Tensor parameter) : parameter_(std::move(parameter)) {
  clear_gradient();
}

void SparseTable::clear_gradient() {
  gradient = {};
  parameter_.mutable_grad().reset();
}

bool SparseTable::take_gradient_of_autograd() {
  const torch::Tensor left = parameter_.grad();
  if (!left.defined()) return true;
  if (!left.is_sparse()) return false;
  gradient = {left._indices()[0], left._values()};
  parameter_.mutable_grad().reset();
  return true;
}

bool SparseTable::has_snapshot() const {
  return std::ranges::any_of(journals_, [](const auto& held) { return !held.expired(); });
}

void SparseTable::keep_for_snapshots(const torch::Tensor& rows, const torch::Tensor& values,
                                     const torch::Tensor& moment2) const {
  for (const std::weak_ptr<RowJournal>& held : journals_)
    if (const std::shared_ptr<RowJournal> journal = held.lock()) journal->keep(rows, shaped(values), shaped(moment2));
}

std::shared_ptr<RowJournal> SparseTable::start_journal() {
  const auto journal = std::make_shared<RowJournal>(rows(), parameter_.device());
  std::erase_if(journals_, [](const std::weak_ptr<RowJournal>& held) { return held.expired(); });
  journals_.push_back(journal);
  return journal;
}

void SparseTable::undo(const RowJournal& journal, const torch::Tensor& values, const torch::Tensor& moment2) const {
  for (const torch::Tensor& rows : journal.rows()) keep_for_snapshots(rows, values, moment2);
  journal.undo(shaped(values), shaped(moment2));
}

}  // namespace chargpt
