// Values, moments and update count at one moment, and back to it; see arena.h.
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

}  // namespace

ArenaSnapshot ParameterArena::snapshot() {
  ArenaSnapshot snapshot{.values = {}, .moment1 = {}, .moment2 = {}, .journals = {}, .updates = updates_};
  for (ParameterGroup& group : groups_) {
    const bool copied = !group.table;
    snapshot.values.push_back(copied ? group.values.clone() : torch::Tensor());
    snapshot.moment1.push_back(copied ? copy_of(group.moment1) : torch::Tensor());
    snapshot.moment2.push_back(copied ? copy_of(group.moment2) : torch::Tensor());
    snapshot.journals.push_back(copied ? nullptr : group.table->start_journal());
  }
  return snapshot;
}

void ParameterArena::restore(const ArenaSnapshot& snapshot) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    ParameterGroup& group = groups_[i];
    if (group.table) {
      start_moments(group);
      group.table->undo(*snapshot.journals[i], group.values, group.moment2);
      continue;
    }
    group.values.copy_(snapshot.values[i]);
    put_back(group.moment1, snapshot.moment1[i]);
    put_back(group.moment2, snapshot.moment2[i]);
  }
  updates_ = snapshot.updates;
}

}  // namespace chargpt
