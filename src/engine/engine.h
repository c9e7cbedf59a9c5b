// An engine turns batches into loss and gradients; `autograd` is the reference every other is tested against. A new
// engine is a file and a row in engine.cpp. Knows no data order, no update rule, no schedule and no file.
//
// A batch is where its windows start in a text, and each engine makes of it what it needs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/heartbeat.h"
#include "inference/window_scorer.h"
#include "model/language_model.h"
#include "parameters/arena.h"

namespace chargpt {

/// Which windows of each micro-batch an engine is given, where other processes have the rest.
struct WindowShare {
  std::int64_t first = 0;  ///< windows before them
  std::int64_t all = 0;    ///< of the whole micro-batch; 0: they are all there is
};

/// What the gradients of a step are a function of, beside the weights.
struct GradientInput {
  std::int64_t step = 0;   ///< finished updates before this one (0 for the first)
  std::uint64_t seed = 0;  ///< of dropout
  std::span<const WindowBatch> micro_batches;
  WindowShare share = {};    ///< loss and gradients are then this part's contribution to those of the whole step
  Heartbeat heartbeat = {};  ///< between micro-batches, or more often; on the calling thread
};

/// What an engine says of the gradients that it has left in the arena.
struct Gradients {
  double loss = 0;     ///< mean over all micro-batches, nats per token, before the update
  double norm = 0;     ///< L2, before clipping
  bool finite = true;  ///< loss and all gradients
};

class Engine : public WindowScorer {
 public:
  virtual std::string_view name() const = 0;
  /// What the user should know of the choice of this engine; empty: nothing.
  virtual std::string notice() const { return {}; }
  /// What has come up since; empty: nothing. Tells it once.
  virtual std::string take_notice() { return {}; }
  /// Leaves the gradient of the mean loss over all micro-batches in the arena; weights and moments stay as they are.
  /// What the heartbeat throws drops it whole.
  virtual Gradients gradients(const GradientInput& input) = 0;
};

/// `name` is a row of the table.
bool is_engine(const std::string& name);

/// "auto" is cpu where the model lies on the CPU and that engine covers it, else autograd; so is cpu, with a notice.
/// "cuda", which older runs name, is autograd. Error usage for an unknown name.
std::unique_ptr<Engine> make_engine(const std::string& name, LanguageModel& model, ParameterArena& arena,
                                    const TrainConfig& train);

}  // namespace chargpt
