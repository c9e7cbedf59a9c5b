// An engine turns batches into loss and gradients; `libtorch` is the reference that the CPU engine is tested against. A
// new engine is a file and a case in engine.cpp. Knows no data order, no update rule, no schedule and no file.
//
// A batch is where its windows start in a text, and each engine makes of it what it needs.
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

/// What the targets of a step are mixed with: at each place they are 1 - weight of the text's next symbol and weight of
/// q there.
struct SoftTargets {
  std::span<const float> q;  ///< distributions, (B, T, V) of each micro-batch one after another; empty: none
  float weight = 0;          ///< 0 to 1
};

/// What the gradients of a step are a function of, beside the weights.
struct GradientInput {
  std::int64_t step = 0;   ///< finished updates before this one (0 for the first)
  std::uint64_t seed = 0;  ///< of dropout
  std::span<const WindowBatch> micro_batches;
  SoftTargets soft = {};  ///< of the windows in these micro-batches
  /// Windows of each micro-batch before these, where other processes have some: loss and gradients are then this part's
  /// contribution to those of the whole step.
  std::int64_t first_window = 0;
  std::int64_t tokens = 0;   ///< targets that count in the whole step, all processes together; 0: in the micro-batches
  Heartbeat heartbeat = {};  ///< between micro-batches, or more often; on the calling thread
};

/// 1 / the targets that count in the whole step.
double token_weight(const GradientInput& input);

/// What an engine says of the gradients that it has made.
struct Gradients {
  double loss = 0;  ///< of the text's symbols: mean over all targets that count, nats, before the update
  double norm = 0;  ///< L2, before clipping
  bool finite() const { return std::isfinite(loss) && std::isfinite(norm); }
};

/// What an engine is made for. All must outlive it.
struct EngineRequest {
  const ModelConfig& model;
  std::int64_t vocab_size;
  const TrainConfig& train;
  ParameterArena& arena;
  std::string device = "cpu";  ///< as choose_device() gives it
  int threads = cpu::threads_in_force();
};

/// Parameters, and what is kept of each, are the arena's. An engine on another device has copies of them; then what
/// reads the arena asks give_back() or give_gradients() first, and what changes it tells take_over() or
/// take_gradients(). On the CPU weights are packed again after a take_over(), and the others do nothing.
///
/// On a CPU every engine scores by the forward pass of network/, whatever it trains with; weights are packed once for
/// all that is scored between two changes of them.
class Engine : public WindowScorer {
 public:
  explicit Engine(const EngineRequest& request)
      : arena_(request.arena), model_(request.model), train_(request.train), vocab_size_(request.vocab_size) {}

  virtual std::string_view name() const = 0;
  /// What has come up since; empty: nothing. Tells it once.
  virtual std::string take_notice() { return {}; }
  /// The gradient of the mean cross-entropy of all targets that count, soft ones too; weights and moments stay as they
  /// are. What the heartbeat throws drops it whole.
  virtual Gradients gradients(const GradientInput& input) = 0;
  /// Applies the gradients; the arena counts it.
  virtual void update(const UpdateContext& context) {
    chargpt::update(arena_, context);
    is_packed_ = false;
  }
  /// The averages, if there are any, follow an update.
  virtual void average(double decay) { follow_averages(arena_, decay); }

  /// Weights and averages change places.
  virtual void swap_averages() {
    chargpt::swap_averages(arena_);
    is_packed_ = false;
  }

  virtual void give_gradients() {}
  virtual void take_gradients() {}
  /// Weights, moments and averages.
  virtual void give_back() {}
  virtual void take_over() { is_packed_ = false; }
  /// Waits for all work queued on the device. For timing.
  virtual void synchronize() {}

  void score(const WindowBatch& windows, std::span<float> losses) override;

 protected:
  ParameterArena& arena_;

 private:
  const ModelConfig& model_;
  const TrainConfig& train_;
  std::int64_t vocab_size_;
  cpu::Plan scoring_plan_;
  std::unique_ptr<cpu::ForwardTeam> team_;  ///< made when something is scored
  bool is_packed_ = false;
};

/// Tokens that a GPU scores at once: it has room for more than a CPU's caches, and waits less for the host.
inline constexpr std::int64_t tokens_scored_on_gpu = 65'536;

/// Why the CPU engine computes bfloat16 in float32 where cpu::bf16_kernels() is null.
inline constexpr std::string_view lacks_bf16 =
    "needs AVX512_BF16, which this processor lacks or ATEN_CPU_CAPABILITY disables";

/// "cpu" or "libtorch", without making it: "auto" is libtorch on a GPU, else cpu. Error usage for an unknown name and
/// for cpu on a GPU; unavailable for cpu, by name, without kernels for bfloat16.
std::string chosen_engine(const std::string& name, Dtype dtype, const std::string& device);

/// Errors as chosen_engine, and unavailable where LibTorch is needed and missing.
std::unique_ptr<Engine> make_engine(const std::string& name, const EngineRequest& request);

}  // namespace chargpt
