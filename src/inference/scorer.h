// Losses of windows by a model held for inference, on a team of threads. Knows no text and no split.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/forward.h"
#include "inference/model.h"
#include "inference/window_scorer.h"
#include "kernels/thread_team.h"

namespace chargpt {

class Scorer : public WindowScorer {
 public:
  /// `model` must outlive it. Packs the weights.
  Scorer(const InferenceModel& model, int threads);
  /// Error internal as check_windows.
  void score(const WindowBatch& windows, std::span<float> losses) override;

 private:
  const cpu::Plan& plan_;
  cpu::ThreadTeam team_;
  cpu::AlignedFloats packed_;
  cpu::WeightPointers weights_;
  std::vector<cpu::Forward> forwards_;  ///< one for each thread of the team
};

}  // namespace chargpt
