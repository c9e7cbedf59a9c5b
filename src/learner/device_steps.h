// Steps taken on a device without a word from the host: windows and rates of several steps go there at once, each step
// is one repeat of a recording of the whole of it (gradients, clipping, update, averages), and their losses come back
// together. Knows no schedule, no data order, no policy and no clock but to measure itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/token_view.h"
#include "engine/device_engine.h"
#include "learner/step.h"
#include "optimizer/averages.h"
#include "parameters/arena.h"

namespace chargpt {

/// Windows of steps that follow one another.
struct StepWindows {
  TokenView text;
  std::int64_t T = 0, B = 0, micro_batches = 1;
  std::span<const std::int64_t> starts;  ///< steps x micro_batches x B
};

class DeviceSteps {
 public:
  static constexpr std::int64_t most_at_once = 16;
  /// All must outlive it; every group must have a device_update().
  DeviceSteps(DeviceEngine& engine, ParameterArena& arena, AveragedWeights& averages, const TrainConfig& train,
              WorkRecorder recorder = record);

  /// How many steps from now on take about a tenth of a second, by those before: 1 to most_at_once.
  std::int64_t worthwhile() const;
  /// Takes as many steps as there are `lr_factors`, no more than most_at_once, from step `first` on. Ends after one
  /// whose loss or gradient is not finite, which changes nothing, with its gradients in the arena. The arena has
  /// counted the updates.
  std::vector<StepResult> take(std::int64_t first, std::span<const double> lr_factors, const StepWindows& windows);
  /// What the user should know of the recording; empty: nothing. Tells it once.
  std::string take_notice();

 private:
  void start(std::int64_t first, std::span<const double> lr_factors, const StepWindows& windows);
  void step();
  void repeat();
  void make_recording(std::int64_t first, std::span<const double> lr_factors, const StepWindows& windows);
  std::vector<const void*> memory() const;
  torch::Tensor rows(std::int64_t count) const;

  DeviceEngine& engine_;
  ParameterArena& arena_;
  AveragedWeights& averages_;
  const TrainConfig& train_;
  WorkRecorder recorder_;
  DropoutKey key_;
  std::int64_t T_ = 0;
  torch::Tensor text_, starts_;                ///< starts_ (most_at_once, micro_batches, B) int64
  torch::Tensor factors_, results_, numbers_;  ///< (most_at_once), (most_at_once, 3): loss, norm, applied; 0, 1, …
  torch::Tensor place_, updates_, stopped_;    ///< which step is next (1) int64; () float32; () bool
  std::unique_ptr<RecordedWork> recorded_;     ///< null: step() itself is repeated
  std::vector<const void*> recorded_memory_;   ///< where that reads and writes
  std::string notice_;
  double seconds_per_step_ = 0;  ///< 0: not known yet
};

}  // namespace chargpt
