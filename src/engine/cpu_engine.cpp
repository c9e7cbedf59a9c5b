#include "engine/cpu_engine.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/part.h"
#include "engine/cpu/forward_backward.h"
#include "kernels/bf16.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"
#include "network/plan.h"

namespace chargpt {
namespace {

using cpu::AlignedFloats;
using cpu::BatchSlice;
using cpu::ForwardBackward;
using cpu::on_threads;
using cpu::Plan;

class CpuEngine : public Engine {
 public:
  explicit CpuEngine(const EngineRequest& request)
      : Engine(request),
        plan_(plan_in(arena_, request.model, request.vocab_size, request.train, cpu::Packing::both)),
        weights_{.values = arena_.values.data(), .packed = AlignedFloats(plan_.packed_floats)} {
    if (request.train.dtype == Dtype::bfloat16) plan_.bf16 = cpu::bf16_kernels();
  }

  std::string_view name() const override { return "cpu"; }

  Gradients gradients(const GradientInput& input) override {
    use_threads();
    on_threads(threads(), [&](int thread) { pack_weights(plan_, weights_, thread, threads()); });
    const double loss = accumulate_gradients(input);
    return {.loss = loss, .norm = std::sqrt(sum_gradients())};
  }

 private:
  /// The buffers of one thread and its part of the results.
  struct Share {
    ForwardBackward training;
    AlignedFloats gradients{};  ///< the arena's layout; empty for thread 0, which adds to the arena's gradients
    double loss = 0, squares = 0;
  };

  int threads() const { return static_cast<int>(shares_.size()); }

  void use_threads() {
    const int count = cpu::threads_in_force();
    if (count == threads()) return;
    shares_.clear();
    for (int thread = 0; thread < count; ++thread) shares_.push_back({.training = ForwardBackward(plan_, weights_)});
  }

  BatchSlice slice_of(const WindowBatch& windows, std::int64_t thread) const {
    const Part part = part_of(windows.B(), threads(), thread);
    return {.windows = windows.part(part.begin, part.size), .first = part.begin};
  }

  /// Computes the gradient of the mean loss over all counted targets into the threads' buffers; returns the loss.
  double accumulate_gradients(const GradientInput& input) {
    for (const WindowBatch& windows : input.micro_batches) check_windows(windows, plan_.vocab_size, plan_.block_size);
    std::atomic<bool> interrupted = false;
    on_threads(threads(), [&](int thread) {
      train_slice(thread, input, [&, thread](double part) { beat_on(thread, input.heartbeat, part, interrupted); });
    });
    double loss = 0;
    for (const Share& share : shares_) loss += share.loss;
    return loss;
  }

  void train_slice(std::int64_t thread, const GradientInput& input, const Heartbeat& heartbeat) {
    const std::span<const WindowBatch> batches = input.micro_batches;
    const double weight = 1.0 / static_cast<double>(input.tokens);
    Share& share = shares_[static_cast<std::size_t>(thread)];
    share.loss = 0;
    const float* soft = input.soft.q.empty() ? nullptr : input.soft.q.data();
    const bool idle = std::ranges::all_of(batches, [&](const auto& b) { return slice_of(b, thread).windows.B() == 0; });
    share.training.begin(idle ? nullptr : gradients_of(share));
    for (std::size_t i = 0; i < batches.size(); ++i) {
      BatchSlice slice = slice_of(batches[i], thread);
      if (soft != nullptr) slice.soft = soft + slice.first * slice.windows.T * plan_.vocab_size;
      if (soft != nullptr) soft += batches[i].numel() * plan_.vocab_size;
      slice.soft_weight = input.soft.weight;
      if (slice.windows.B() == 0) continue;
      slice.elsewhere = input.first_window;
      slice.scale = static_cast<float>(weight);
      if (plan_.dropout.any()) slice.seed = dropout_seed(input, i);
      const Heartbeat of_all = [&](double part) {
        heartbeat((static_cast<double>(i) + part) / static_cast<double>(batches.size()));
      };
      slice.heartbeat = &of_all;
      share.training.prepare(slice.windows.B(), slice.windows.T);
      share.loss += weight * share.training.run(slice);
    }
  }

  float* gradients_of(Share& share) {
    if (&share == shares_.data()) return arena_.gradients.data();
    if (share.gradients.empty()) share.gradients = AlignedFloats(arena_.gradients.size());
    return share.gradients.data();
  }

  /// Adds the threads' gradients to the arena's; each thread adds a part of every group. Returns the sum of squares.
  double sum_gradients() {
    on_threads(threads(), [&](int thread) {
      double& squares = shares_[static_cast<std::size_t>(thread)].squares;
      squares = 0;
      for (const ParameterGroup& group : arena_.groups()) squares += sum_group(group, thread);
    });
    double squares = 0;
    for (const Share& share : shares_) squares += share.squares;
    return squares;
  }

  double sum_group(const ParameterGroup& group, std::int64_t thread) {
    const Part part = part_of(group.size(), threads(), thread);
    const std::int64_t begin = group.begin + part.begin;
    std::vector<const float*> others;
    for (const Share& other : std::span(shares_).subspan(1))
      if (other.training.has_gradients()) others.push_back(other.gradients.data() + begin);
    return plan_.kernels->sum_buffers(arena_.gradients.data() + begin, others.data(), static_cast<long>(others.size()),
                                      part.size);
  }

  Plan plan_;
  cpu::ModelWeights weights_;
  std::vector<Share> shares_;  ///< indexed by thread
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(const EngineRequest& request) {
  return std::make_unique<CpuEngine>(request);
}

}  // namespace chargpt
