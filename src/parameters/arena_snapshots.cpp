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

ArenaSnapshot ParameterArena::snapshot() const {
  ArenaSnapshot snapshot{.values = {}, .moment1 = {}, .moment2 = {}, .updates = updates_};
  for (const ParameterGroup& group : groups_) {
    snapshot.values.push_back(group.values.clone());
    snapshot.moment1.push_back(copy_of(group.moment1));
    snapshot.moment2.push_back(copy_of(group.moment2));
  }
  return snapshot;
}

void ParameterArena::restore(const ArenaSnapshot& snapshot) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    ParameterGroup& group = groups_[i];
    group.values.copy_(snapshot.values[i]);
    put_back(group.moment1, snapshot.moment1[i]);
    put_back(group.moment2, snapshot.moment2[i]);
  }
  updates_ = snapshot.updates;
}

}  // namespace chargpt
