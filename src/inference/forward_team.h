// A model ready to compute: its weights, packed once, and a forward pass for each thread of a team. Knows no batch, no
// sequence and no text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/forward.h"
#include "inference/model.h"
#include "inference/model_weights.h"
#include "kernels/thread_team.h"

namespace chargpt::cpu {

class ForwardTeam {
 public:
  /// `plan` and the values, by its groups, must outlive it.
  ForwardTeam(const Plan& plan, const std::vector<const float*>& values, int threads);
  /// After each change of the values.
  void pack();

  const Plan& plan() const { return plan_; }
  int threads() const { return team_.threads(); }
  /// body(thread) on all threads at the same time; it must not throw.
  template <class Body>
  void run(Body&& body) {
    team_.run(body);
  }
  Forward& pass(int thread) { return passes_[static_cast<std::size_t>(thread)]; }
  std::span<Forward> passes() { return passes_; }

 private:
  const Plan& plan_;
  ThreadTeam team_;
  ModelWeights weights_;
  std::vector<Forward> passes_;
};

/// Runs one window of 1 to block_size ids, by one thread, and tells the observer what it makes. Error internal for
/// another number of ids, or an id that the model does not have.
void observe(const InferenceModel& model, std::span<const std::int64_t> ids, const Observer& observer);

}  // namespace chargpt::cpu
