#include "engine/cpu_engine.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "engine/cpu/forward_backward.h"
#include "inference/pack_weights.h"
#include "inference/parameter_list.h"
#include "inference/plan.h"
#include "kernels/bf16.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"

namespace chargpt {
namespace {

using cpu::AlignedFloats;
using cpu::BatchSlice;
using cpu::Forward;
using cpu::ForwardBackward;
using cpu::Kernels;
using cpu::on_threads;
using cpu::Plan;
using cpu::WeightPointers;

/// Range `index` of [0, n) cut into `parts`, sizes differing by one at most, the larger first.
struct Range {
  std::int64_t begin, size;
};
Range range_of(std::int64_t n, std::int64_t parts, std::int64_t index) {
  const std::int64_t least = n / parts, rest = n % parts;
  return {index * least + std::min(index, rest), least + (index < rest ? 1 : 0)};
}

void check(const WindowBatch& windows, const Plan& plan) {
  if (windows.T < 1 || windows.T > plan.block_size)
    throw Error(ExitCode::internal, "T = " + std::to_string(windows.T) +
                                        " is outside 1 to model.block_size = " + std::to_string(plan.block_size));
  check_windows(windows, plan.vocab_size);
}

class CpuEngine : public Engine {
 public:
  CpuEngine(ParameterArena& arena, Plan plan)
      : Engine(arena), kernels_(cpu::kernels()), plan_(std::move(plan)), packed_(plan_.packed_floats) {}

  std::string_view name() const override { return "cpu"; }

  Gradients gradients(const GradientInput& input) override {
    use_threads();
    pack_weights(plan_.bf16 != nullptr ? cpu::PackedType::bf16_matmul : cpu::PackedType::float32);
    Gradients result;
    result.loss = accumulate_gradients(input);
    result.norm = std::sqrt(sum_gradients());
    result.finite = std::isfinite(result.loss) && std::isfinite(result.norm);
    return result;
  }

  void score(const WindowBatch& windows, std::span<float> losses) override {
    use_threads();
    pack_weights(cpu::PackedType::float32);
    check(windows, plan_);
    on_threads(threads_, [&](int thread) {
      const BatchSlice slice = slice_of(windows, thread);
      if (slice.windows.B() == 0) return;
      Forward& forward = forward_passes_[static_cast<std::size_t>(thread)];
      forward.prepare(slice.windows.B(), windows.T);
      forward.losses(weights_, slice, losses.data() + slice.first * windows.T);
    });
  }

 private:
  void use_threads() {
    const int threads = cpu::threads_in_force();
    if (threads == threads_) return;
    threads_ = threads;
    const auto count = static_cast<std::size_t>(threads);
    training_passes_.clear();
    forward_passes_.clear();
    own_gradients_.clear();
    for (std::size_t thread = 0; thread < count; ++thread) {
      training_passes_.emplace_back(plan_, kernels_);
      forward_passes_.emplace_back(plan_, kernels_);
      own_gradients_.emplace_back();
    }
    losses_.assign(count, 0);
    squares_.assign(count, 0);
  }

  void pack_weights(cpu::PackedType type) {
    weights_.values.clear();
    for (const ParameterGroup& group : arena_.groups()) weights_.values.push_back(group.values.data());
    weights_.packed = packed_.data();
    on_threads(threads_, [&](int thread) {
      cpu::pack_weights(plan_, weights_.values, type, kernels_, thread, threads_, packed_.data());
    });
  }

  BatchSlice slice_of(const WindowBatch& windows, std::int64_t thread) const {
    const Range range = range_of(windows.B(), threads_, thread);
    return {.windows = windows.part(range.begin, range.size), .first = range.begin};
  }

  /// The gradient of the mean loss over all targets that count, one part in each thread's buffers; returns that mean.
  double accumulate_gradients(const GradientInput& input) {
    std::vector<cpu::DropoutSeed> seeds;
    for (const WindowBatch& windows : input.micro_batches) {
      check(windows, plan_);
      seeds.push_back(dropout_seed(input, static_cast<std::uint32_t>(seeds.size())));
    }
    std::atomic<bool> interrupted = false;
    on_threads(threads_, [&](int thread) {
      train_slice(thread, input, seeds, [&, thread](double part) { beat(input.heartbeat, thread, part, interrupted); });
    });
    return std::accumulate(losses_.begin(), losses_.end(), 0.0);
  }

  /// The calling thread is the first; what it throws ends the others too.
  static void beat(const Heartbeat& heartbeat, std::int64_t thread, double part, std::atomic<bool>& interrupted) {
    if (interrupted) throw Interrupted{};
    if (thread > 0 || !heartbeat) return;
    try {
      heartbeat(part);
    } catch (...) {
      interrupted = true;
      throw;
    }
  }

  /// As DropoutPass derives it.
  static cpu::DropoutSeed dropout_seed(const GradientInput& input, std::uint32_t micro_batch) {
    const std::uint64_t seed =
        derive_seed(input.seed, Purpose::dropout, static_cast<std::uint64_t>(input.step), micro_batch);
    return {.words = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  }

  void train_slice(std::int64_t thread, const GradientInput& input, std::span<const cpu::DropoutSeed> seeds,
                   const Heartbeat& heartbeat) {
    const std::span<const WindowBatch> batches = input.micro_batches;
    const auto index = static_cast<std::size_t>(thread);
    const double weight = token_weight(input);
    ForwardBackward& pass = training_passes_[index];
    losses_[index] = 0;
    const float* soft = input.soft.q.empty() ? nullptr : input.soft.q.data();
    bool begun = false;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      BatchSlice slice = slice_of(batches[i], thread);
      if (soft != nullptr) slice.soft = soft + slice.first * slice.windows.T * plan_.vocab_size;
      if (soft != nullptr) soft += batches[i].numel() * plan_.vocab_size;
      slice.soft_weight = input.soft.weight;
      if (slice.windows.B() == 0) continue;
      slice.elsewhere = input.first_window;
      slice.scale = static_cast<float>(weight);
      slice.seed = plan_.dropout.any() ? &seeds[i] : nullptr;
      const Heartbeat of_all = [&](double part) {
        heartbeat((static_cast<double>(i) + part) / static_cast<double>(batches.size()));
      };
      slice.heartbeat = &of_all;
      pass.prepare(slice.windows.B(), slice.windows.T);
      if (!begun) pass.begin(weights_, gradient_buffers(index));
      begun = true;
      losses_[index] += weight * pass.run(slice);
    }
    if (!begun) pass.skip();
  }

  /// The first thread adds into the arena itself, the others into buffers of the same layout.
  std::vector<float*> gradient_buffers(std::size_t thread) {
    std::vector<float*> buffers;
    for (std::size_t g = 0; g < arena_.groups().size(); ++g) {
      const AlignedFloats& gradients = arena_.groups()[g].gradients;
      std::vector<AlignedFloats>& own = own_gradients_[thread];
      if (thread > 0 && own.size() <= g) own.emplace_back(gradients.size());
      buffers.push_back(thread == 0 ? gradients.data() : own[g].data());
    }
    return buffers;
  }

  /// Adds the threads' gradients into the arena's, each thread a part of every group; returns the sum of squares.
  double sum_gradients() {
    on_threads(threads_, [&](int thread) {
      double& squares = squares_[static_cast<std::size_t>(thread)];
      squares = 0;
      for (std::size_t g = 0; g < arena_.groups().size(); ++g) squares += sum_group(g, thread);
    });
    return std::accumulate(squares_.begin(), squares_.end(), 0.0);
  }

  double sum_group(std::size_t g, std::int64_t thread) {
    const AlignedFloats& gradients = arena_.groups()[g].gradients;
    const Range range = range_of(gradients.size(), threads_, thread);
    std::vector<const float*> others;
    for (std::size_t other = 1; other < own_gradients_.size(); ++other)
      if (training_passes_[other].has_gradients()) others.push_back(own_gradients_[other][g].data() + range.begin);
    return kernels_.sum_buffers(gradients.data() + range.begin, others.data(), static_cast<long>(others.size()),
                                range.size);
  }

  const Kernels& kernels_;
  Plan plan_;
  AlignedFloats packed_;
  WeightPointers weights_;
  int threads_ = 0;
  std::vector<ForwardBackward> training_passes_;
  std::vector<Forward> forward_passes_;
  std::vector<std::vector<AlignedFloats>> own_gradients_;  ///< by thread and group; none for the first thread
  std::vector<double> losses_, squares_;                   ///< by thread
};

/// Of each parameter that the model's options ask for; none where the arena has others.
std::vector<cpu::Parameter> places_in(const EngineRequest& request) {
  const ParameterArena& arena = request.arena;
  std::map<std::string, cpu::Parameter> there;
  for (std::size_t g = 0; g < arena.groups().size(); ++g)
    for (const ParameterSlot& slot : arena.groups()[g].slots)
      there[slot.name] = {.group = static_cast<int>(g), .offset = slot.offset, .numel = slot.numel};
  std::vector<cpu::Parameter> places;
  for (const ParameterInfo& info : parameter_list(request.model, request.vocab_size))
    if (const auto found = there.find(info.name); found != there.end() && found->second.numel == info.numel())
      places.push_back(found->second);
    else
      return {};
  return places.size() == there.size() ? places : std::vector<cpu::Parameter>();
}

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(const EngineRequest& request) {
  const std::vector<cpu::Parameter> places = places_in(request);
  if (places.empty()) throw Error(ExitCode::internal, "the arena's parameters are not those of the model's options");
  Plan plan = cpu::plan_of(request.model, request.vocab_size, places, cpu::Packing::both, cpu::kernels());
  if (request.train.dtype == Dtype::bfloat16) plan.bf16 = cpu::bf16_kernels();
  return std::make_unique<CpuEngine>(request.arena, std::move(plan));
}

std::string cpu_engine_lacks(const ModelConfig& model, const TrainConfig& train) {
  if (model.type != "gpt") return "model.type = " + model.type;
  if (model.norm_place != NormPlace::pre) return "model.norm_place = " + std::string(enum_name(model.norm_place));
  if (train.dtype == Dtype::bfloat16 && cpu::bf16_kernels() == nullptr)
    return cpu::instruction_set() < cpu::processor_instruction_set()
               ? "train.dtype = bfloat16 where ATEN_CPU_CAPABILITY leaves AVX-512 out"
               : "train.dtype = bfloat16 on a processor without AVX512_BF16";
  return {};
}

CpuEngineMemory cpu_engine_memory(const Config& config, std::int64_t vocab_size, std::int64_t parameters,
                                  std::int64_t threads) {
  ModelConfig model = config.model;
  model.block_size = 1;  // the plan's angles of positions are not what is counted, and may be large
  std::vector<cpu::Parameter> anywhere;
  for (const ParameterInfo& info : parameter_list(model, vocab_size))
    anywhere.push_back({.group = 0, .numel = info.numel()});
  Plan plan = cpu::plan_of(model, vocab_size, anywhere, cpu::Packing::both, cpu::kernels());
  if (config.train.dtype == Dtype::bfloat16) plan.bf16 = cpu::bf16_kernels();
  constexpr std::int64_t scored_tokens = 4096;  // at once, as evaluate/split_loss.cpp cuts a split
  const std::int64_t T = config.model.block_size, B = config.train.batch_size;
  const auto bytes = [](std::int64_t floats) { return static_cast<double>(AlignedFloats::bytes_of(floats)); };
  const auto of_threads = [&](auto&& pass, std::int64_t windows) {  // of those that have a window
    return static_cast<double>(std::min(threads, windows)) *
           bytes(pass.count_buffers((windows + threads - 1) / threads, T));
  };
  const double gradients = static_cast<double>(std::min(threads, B) - 1) * bytes(parameters);
  return {.training = of_threads(ForwardBackward(plan, cpu::kernels()), B) + gradients,
          .scoring = of_threads(Forward(plan, cpu::kernels()), std::max<std::int64_t>(1, scored_tokens / T)),
          .packed = bytes(plan.packed_floats)};
}

}  // namespace chargpt
