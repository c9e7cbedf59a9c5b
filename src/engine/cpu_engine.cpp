#include "engine/cpu_engine.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/cpu/forward_backward.h"
#include "inference/pack_weights.h"
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
  TORCH_CHECK(windows.T >= 1 && windows.T <= plan.block_size, "T = ", windows.T,
              " is outside 1 to model.block_size = ", plan.block_size);
  check_windows(windows, plan.vocab_size);
}

class CpuEngine : public Engine {
 public:
  CpuEngine(ParameterArena& arena, Plan plan)
      : arena_(arena), kernels_(cpu::kernels()), plan_(std::move(plan)), packed_(plan_.packed_floats) {}

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
    const int threads = at::get_num_threads();
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
    for (const ParameterGroup& group : arena_.groups()) weights_.values.push_back(group.values.const_data_ptr<float>());
    weights_.packed = packed_.data();
    on_threads(threads_, [&](int thread) {
      cpu::pack_weights(plan_, weights_.values, type, kernels_, thread, threads_, packed_.data());
    });
  }

  BatchSlice slice_of(const WindowBatch& windows, std::int64_t thread) const {
    const Range range = range_of(windows.B(), threads_, thread);
    return {.windows = windows.part(range.begin, range.size), .first = range.begin};
  }

  /// The gradient of the mean loss over all micro-batches, one part in each thread's buffers; returns that mean.
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
    ForwardBackward& pass = training_passes_[index];
    losses_[index] = 0;
    bool begun = false;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      BatchSlice slice = slice_of(batches[i], thread);
      if (slice.windows.B() == 0) continue;
      const std::int64_t tokens = input.share.all > 0 ? input.share.all * batches[i].T : batches[i].numel();
      const double token_weight = 1.0 / static_cast<double>(tokens) / static_cast<double>(batches.size());
      slice.elsewhere = input.share.first;
      slice.scale = static_cast<float>(token_weight);
      slice.seed = plan_.dropout.any() ? &seeds[i] : nullptr;
      const Heartbeat of_all = [&](double part) {
        heartbeat((static_cast<double>(i) + part) / static_cast<double>(batches.size()));
      };
      slice.heartbeat = &of_all;
      pass.prepare(slice.windows.B(), slice.windows.T);
      if (!begun) pass.begin(weights_, gradient_buffers(index));
      begun = true;
      losses_[index] += token_weight * pass.run(slice);
    }
    if (!begun) pass.skip();
  }

  /// The first thread adds into the arena itself, the others into buffers of the same layout.
  std::vector<float*> gradient_buffers(std::size_t thread) {
    std::vector<float*> buffers;
    for (std::size_t g = 0; g < arena_.groups().size(); ++g) {
      const torch::Tensor& gradients = arena_.groups()[g].gradients;
      std::vector<AlignedFloats>& own = own_gradients_[thread];
      if (thread > 0 && own.size() <= g) own.emplace_back(gradients.numel());
      buffers.push_back(thread == 0 ? gradients.mutable_data_ptr<float>() : own[g].data());
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
    const torch::Tensor& gradients = arena_.groups()[g].gradients;
    const Range range = range_of(gradients.numel(), threads_, thread);
    std::vector<const float*> others;
    for (std::size_t other = 1; other < own_gradients_.size(); ++other)
      if (training_passes_[other].has_gradients()) others.push_back(own_gradients_[other][g].data() + range.begin);
    return kernels_.sum_buffers(gradients.mutable_data_ptr<float>() + range.begin, others.data(),
                                static_cast<long>(others.size()), range.size);
  }

  ParameterArena& arena_;
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

std::string reason_against(const ParameterArena& arena, const TrainConfig& train) {
  if (train.dtype == Dtype::bfloat16 && cpu::bf16_kernels() == nullptr)
    return cpu::instruction_set() < cpu::processor_instruction_set()
               ? "train.dtype = bfloat16 where ATEN_CPU_CAPABILITY leaves AVX-512 out"
               : "train.dtype = bfloat16 on a processor without AVX512_BF16";
  for (const ParameterGroup& group : arena.groups())
    if (!group.values.is_cpu()) return "device " + group.values.device().str();
  return {};
}

cpu::Parameter find(const ParameterArena& arena, const std::string& name) {
  for (std::size_t g = 0; g < arena.groups().size(); ++g)
    for (const ParameterSlot& slot : arena.groups()[g].slots)
      if (slot.name == name) return {.group = static_cast<int>(g), .offset = slot.offset, .numel = slot.numel};
  return {};
}

/// None, and then `why_not` says which option it is: "model.norm_place = post".
std::optional<Plan> plan_for(const LanguageModel& model, const ParameterArena& arena, const TrainConfig& train,
                             std::string& why_not) {
  why_not = cpu_engine_lacks(model.config());
  if (why_not.empty()) why_not = reason_against(arena, train);
  if (!why_not.empty()) return std::nullopt;
  const auto found = [&arena](const std::string& name, const auto& /*shape*/) { return find(arena, name); };
  std::optional<Plan> plan =
      cpu::plan_of(model.config(), model.vocab_size(), found, arena.numel(), cpu::Packing::both, cpu::kernels());
  if (!plan) {
    why_not = "parameters that are not those of its options";
    return std::nullopt;
  }
  if (train.dtype == Dtype::bfloat16) plan->bf16 = cpu::bf16_kernels();
  return plan;
}

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train,
                                        std::string& why_not) {
  std::optional<Plan> plan = plan_for(model, arena, train, why_not);
  if (!plan) return nullptr;
  return std::make_unique<CpuEngine>(arena, std::move(*plan));
}

std::string cpu_engine_lacks(const ModelConfig& config) {
  if (config.type != "gpt") return "model.type = " + config.type;
  if (config.norm_place != NormPlace::pre) return "model.norm_place = " + std::string(enum_name(config.norm_place));
  return {};
}

CpuEngineMemory cpu_engine_memory(const Config& config, std::int64_t vocab_size, std::int64_t parameters,
                                  std::int64_t threads) {
  ModelConfig model = config.model;
  model.block_size = 1;  // the plan's angles of positions are not what is counted, and may be large
  const auto anywhere = [](const std::string& /*name*/, const std::vector<std::int64_t>& shape) {
    return cpu::Parameter{.group = 0,
                          .numel = std::reduce(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies())};
  };
  std::optional<Plan> plan =
      cpu::plan_of(model, vocab_size, anywhere, std::nullopt, cpu::Packing::both, cpu::kernels());
  TORCH_CHECK(plan, "a model of any options has a plan");
  if (config.train.dtype == Dtype::bfloat16) plan->bf16 = cpu::bf16_kernels();
  constexpr std::int64_t scored_tokens = 4096;  // at once, as evaluate/split_loss.cpp cuts a split
  const std::int64_t T = config.model.block_size, B = config.train.batch_size;
  const auto bytes = [](std::int64_t floats) { return static_cast<double>(AlignedFloats::bytes_of(floats)); };
  const auto of_threads = [&](auto&& pass, std::int64_t windows) {  // of those that have a window
    return static_cast<double>(std::min(threads, windows)) *
           bytes(pass.count_buffers((windows + threads - 1) / threads, T));
  };
  const double gradients = static_cast<double>(std::min(threads, B) - 1) * bytes(parameters);
  return {.training = of_threads(ForwardBackward(*plan, cpu::kernels()), B) + gradients,
          .scoring = of_threads(Forward(*plan, cpu::kernels()), std::max<std::int64_t>(1, scored_tokens / T)),
          .packed = bytes(plan->packed_floats)};
}

}  // namespace chargpt
