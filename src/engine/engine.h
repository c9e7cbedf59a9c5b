// An engine computes loss and gradients from batches; the CPU engine is tested against `libtorch`, the reference. A new
// engine is a file and a case in engine.cpp. Independent of data order, update rules, schedules and files.
//
// A batch consists of the offsets of its windows in a text; each engine converts it to what it needs.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/heartbeat.h"
#include "engine/optimizer.h"
#include "kernels/thread_team.h"
#include "network/arena.h"
#include "network/forward.h"
#include "network/window_scorer.h"

namespace chargpt {

/// Distributions to mix with the targets of a step: the target of a position is (1 - weight) times the one-hot vector
/// of the next symbol plus weight times q.
struct SoftTargets {
  std::span<const float> q;  ///< distributions, (B, T, V) of each micro-batch in order; empty: do not mix
  float weight = 0;          ///< 0 to 1
};

/// The inputs of a step's gradients, except the weights.
struct GradientInput {
  std::int64_t step = 0;   ///< number of updates before this one (0 for the first)
  std::uint64_t seed = 0;  ///< for dropout
  std::span<const WindowBatch> micro_batches;
  SoftTargets soft = {};  ///< for the windows in these micro-batches
  /// Number of windows of each micro-batch that earlier processes have. With several processes, loss and gradients are
  /// this process's part of the sums for the whole step.
  std::int64_t first_window = 0;
  std::int64_t tokens = 1;   ///< targets that count in the whole step, all processes
  Heartbeat heartbeat = {};  ///< called between micro-batches or more often, on the calling thread
};

/// Seed of the dropout masks of micro-batch `i`: a resumed step, or a process with a part of it, uses the same masks.
std::uint64_t dropout_seed(const GradientInput& input, std::size_t i);

/// Loss of a step, and the norm of the gradients that the engine computed.
struct Gradients {
  double loss = 0;  ///< cross-entropy of the text: mean over all targets that count, nats, before the update
  double norm = 0;  ///< L2 norm before clipping
  bool finite() const { return std::isfinite(loss) && std::isfinite(norm); }
};

/// Arguments of make_engine(). All references must outlive the engine.
struct EngineRequest {
  const ModelConfig& model;
  std::int64_t vocab_size;
  const TrainConfig& train;
  ParameterArena& arena;
  std::string device = "cpu";  ///< a result of choose_device()
  int threads = cpu::threads_in_force();
};

/// The arena stores parameters, moments and averages. An engine on another device works on copies of them: call
/// give_back() or give_gradients() before reading the arena, and take_over() or take_gradients() after changing it. On
/// the CPU, take_over() makes the engine pack the weights again, and the other functions do nothing.
///
/// On a CPU every engine scores with the forward pass of network/, also one that trains with LibTorch; it packs the
/// weights once after each change of them.
class Engine : public WindowScorer {
 public:
  explicit Engine(const EngineRequest& request) : arena_(request.arena), request_(request) {}

  virtual std::string_view name() const = 0;
  /// Returns and clears the pending notice, or "" if there is none.
  virtual std::string take_notice() { return {}; }
  /// Computes the gradient of the mean cross-entropy (with soft targets, if any) over all targets that count; does not
  /// change weights or moments. If the heartbeat throws, the result is discarded.
  virtual Gradients gradients(const GradientInput& input) = 0;
  /// Applies the gradients and increments the arena's number of updates.
  virtual void update(const UpdateContext& context) {
    chargpt::update(arena_, context);
    change_weights();
  }
  /// Updates the averages, if any, after an update of the weights.
  virtual void average(double decay) { follow_averages(arena_, decay); }

  /// Swaps weights and averages.
  virtual void swap_averages() {
    chargpt::swap_averages(arena_);
    change_weights();
  }

  virtual void give_gradients() {}
  virtual void take_gradients() {}
  /// give_back() and take_over() copy weights, moments and averages.
  virtual void give_back() {}
  virtual void take_over() { change_weights(); }
  /// Waits for all queued work of the device, for timing.
  virtual void synchronize() {}

  void score(const WindowBatch& windows, std::span<float> losses) override;

 protected:
  ParameterArena& arena_;

 private:
  void change_weights() {
    if (team_) team_->take_weights();
  }

  EngineRequest request_;
  cpu::Plan scoring_plan_;
  std::unique_ptr<cpu::ForwardTeam> team_;  ///< created by the first score()
};

/// Tokens that a GPU scores per call: its memory is larger than a CPU's caches, and it waits less for the host.
inline constexpr std::int64_t tokens_scored_on_gpu = 65'536;

/// Why the CPU engine replaces bfloat16 by float32 if cpu::bf16_kernels() is null.
inline constexpr std::string_view lacks_bf16 =
    "needs AVX512_BF16, which this processor lacks or ATEN_CPU_CAPABILITY disables";

/// Returns "cpu" or "libtorch"; "auto" is libtorch on a GPU, else cpu. Throws Error usage for an unknown name and for
/// cpu on a GPU; unavailable for `name` "cpu" with bfloat16 if the kernels for it are missing.
std::string chosen_engine(const std::string& name, Dtype dtype, const std::string& device);

/// Creates the engine. Throws the errors of chosen_engine(), and Error unavailable if LibTorch is needed and missing.
std::unique_ptr<Engine> make_engine(const std::string& name, const EngineRequest& request);

}  // namespace chargpt
