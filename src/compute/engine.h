// An engine computes one training step of any model; `autograd` is the reference every other is tested against. A new
// engine is a file and a row in engine.cpp. Knows no data order, no schedule and no file.
#pragma once

#include <torch/types.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/heartbeat.h"
#include "compute/arena.h"
#include "inference/window_scorer.h"
#include "model/language_model.h"

namespace chargpt {

/// x (B, T) int64 inputs, y (B, T) int64 targets, on the CPU; the engine moves them.
struct Batch {
  torch::Tensor x, y;
};

struct StepInput {
  std::int64_t step = 0;  ///< finished updates before this one (0 for the first)
  double lr_factor = 1;
  std::uint64_t seed = 0;  ///< of dropout
  std::span<const Batch> micro_batches;
  Heartbeat heartbeat = {};  ///< between micro-batches, or more often; on the calling thread
};

struct StepResult {
  double loss = 0;       ///< mean over all micro-batches, nats per token, before the update
  double grad_norm = 0;  ///< before clipping, without the tables of row-sparse groups
  bool updated = true;   ///< false where loss or gradient was not finite: weights and moments are as before
};

class Engine : public WindowScorer {
 public:
  virtual std::string_view name() const = 0;
  /// What the user should know of the choice of this engine; empty: nothing.
  virtual std::string notice() const { return {}; }
  /// What the heartbeat throws drops the update whole: weights and moments are as before.
  virtual StepResult step(const StepInput& input) = 0;
  /// Loss of each position without gradient or dropout: (B, T) float32 on the CPU. Always in float32, without TF32 and
  /// whatever train.dtype is, so that a checkpoint has one loss on every engine and device.
  virtual torch::Tensor losses(const Batch& batch) = 0;
  void score(const WindowBatch& windows, std::span<float> losses) final;
};

/// `name` is a row of the table.
bool is_engine(const std::string& name);

/// "auto" is cpu where that covers the model, else autograd; so is cpu, with a notice. Error usage for an unknown name.
std::unique_ptr<Engine> make_engine(const std::string& name, LanguageModel& model, ParameterArena& arena,
                                    const TrainConfig& train);

}  // namespace chargpt
