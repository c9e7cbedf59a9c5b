// Values, moments and update count at one moment, and back to it; see arena.h.
#include <algorithm>

#include "parameters/arena.h"

namespace chargpt {
namespace {

torch::Tensor copy_of(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.clone() : torch::Tensor();
}

/// Puts a copied moment back; one that did not exist then does not exist again.
void put_back(torch::Tensor& moment, const torch::Tensor& saved) {
  if (saved.defined())
    moment.copy_(saved);
  else
    moment.reset();
}

std::shared_ptr<RowJournal> start_journal(ParameterGroup& group) {
  const auto journal = std::make_shared<RowJournal>(group.slots.front().shape.front(), group.values.device());
  std::erase_if(group.journals, [](const std::weak_ptr<RowJournal>& held) { return held.expired(); });
  group.journals.push_back(journal);
  return journal;
}

/// Other snapshots that are held see the rows change as in an update.
void undo(ParameterGroup& group, const RowJournal& journal) {
  start_moments(group);
  for (const torch::Tensor& rows : journal.rows()) keep_for_snapshots(group, rows);
  journal.undo(group.as_table(group.values), group.as_table(group.moment2));
}

}  // namespace

bool has_snapshot(const ParameterGroup& group) {
  return std::ranges::any_of(group.journals, [](const auto& held) { return !held.expired(); });
}

void keep_for_snapshots(const ParameterGroup& group, const torch::Tensor& rows) {
  for (const std::weak_ptr<RowJournal>& held : group.journals)
    if (const std::shared_ptr<RowJournal> journal = held.lock())
      journal->keep(rows, group.as_table(group.values), group.as_table(group.moment2));
}

void keep_all_for_snapshots(ParameterGroup& group) {
  if (!group.row_sparse || !has_snapshot(group)) return;
  start_moments(group);
  const auto options = torch::TensorOptions().dtype(torch::kInt64).device(group.values.device());
  keep_for_snapshots(group, torch::arange(group.slots.front().shape.front(), options));
}

ArenaSnapshot ParameterArena::snapshot() {
  ArenaSnapshot snapshot{.values = {}, .moment1 = {}, .moment2 = {}, .journals = {}, .updates = updates_};
  for (ParameterGroup& group : groups_) {
    const bool copied = !group.row_sparse;
    snapshot.values.push_back(copied ? group.values.clone() : torch::Tensor());
    snapshot.moment1.push_back(copied ? copy_of(group.moment1) : torch::Tensor());
    snapshot.moment2.push_back(copied ? copy_of(group.moment2) : torch::Tensor());
    snapshot.journals.push_back(copied ? nullptr : start_journal(group));
  }
  return snapshot;
}

void ParameterArena::restore(const ArenaSnapshot& snapshot) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (snapshot.journals[i]) {
      undo(groups_[i], *snapshot.journals[i]);
      continue;
    }
    groups_[i].values.copy_(snapshot.values[i]);
    put_back(groups_[i].moment1, snapshot.moment1[i]);
    put_back(groups_[i].moment2, snapshot.moment2[i]);
  }
  updates_ = snapshot.updates;
}

}  // namespace chargpt
