// A model ready to compute: its weights, packed once, and a forward pass for each thread of a team. Knows no batch, no
// sequence and no text.
#pragma once

#include <span>
#include <vector>

#include "inference/forward.h"
#include "kernels/thread_team.h"

namespace chargpt::cpu {

class ForwardTeam {
 public:
  /// `plan` and the values, by its groups, must outlive it.
  ForwardTeam(const Plan& plan, const std::vector<const float*>& values, int threads)
      : plan_(plan), team_(threads), weights_{.values = values, .packed = AlignedFloats(plan.packed_floats)} {
    for (int thread = 0; thread < threads; ++thread) passes_.emplace_back(plan_, weights_);
    pack();
  }
  /// After each change of the values.
  void pack() {
    team_.run([this](int thread) { pack_weights(plan_, weights_, /*bf16=*/nullptr, thread, threads()); });
  }

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

}  // namespace chargpt::cpu
