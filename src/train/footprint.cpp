#include "train/footprint.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "engine/cpu_engine.h"
#include "inference/dimensions.h"
#include "inference/group_patterns.h"
#include "inference/parameter_list.h"
#include "inference/update_rule.h"
#include "report/format.h"

namespace chargpt {
namespace {

constexpr double bytes_per_float = 4;

/// A sum of products of options may exceed 2^63; an estimate must not wrap around.
std::int64_t whole_bytes(double bytes) {
  return static_cast<std::int64_t>(
      std::min(bytes, 0.5 * static_cast<double>(std::numeric_limits<std::int64_t>::max())));
}

/// Floats that autograd keeps per token and layer.
double floats_per_layer(const ModelConfig& model, bool on_device) {
  const auto width = static_cast<double>(model.n_embd);
  const double hidden = !model.feed_forward ? 0 : model.mlp_size > 0 ? static_cast<double>(model.mlp_size) : 4 * width;
  const bool keeps_scores = model.dropout > 0 && !on_device;
  const double scores =
      keeps_scores ? 3.0 * static_cast<double>(model.n_head) * static_cast<double>(model.block_size) : 0;
  const auto convolutions = static_cast<double>(model.conv_places.size());
  return (10 + convolutions) * width + 3 * hidden + scores;
}

double of_autograd(const Config& config, const RunSize& run) {
  const double tokens = static_cast<double>(config.train.batch_size) * static_cast<double>(config.model.block_size);
  const double layers = static_cast<double>(config.model.n_layer) * floats_per_layer(config.model, !run.device.empty());
  return bytes_per_float * tokens * (layers + 3 * static_cast<double>(run.vocab_size));
}

double of_cpu_engine(const Config& config, const RunSize& run) {
  const CpuEngineMemory memory = cpu_engine_memory(config, run.vocab_size, run.parameters, run.threads);
  return memory.training + memory.scoring + memory.packed;
}

/// Parameters of which the optimizer keeps one moment.
double one_moment_parameters(const Config& config, std::int64_t vocab_size) {
  double count = 0;
  const GroupPatterns patterns(config.train);
  for (const ParameterInfo& parameter : parameter_list(config.model, vocab_size)) {
    const auto group = patterns.group_of(parameter.name, std::ssize(parameter.shape));
    const UpdateRule rule = group ? config.train.groups[*group].optimizer : UpdateRule::adamw;
    if (!moments_kept(rule).second) count += static_cast<double>(parameter.numel());
  }
  return count;
}

}  // namespace

std::int64_t memory_estimate(const Config& config, const RunSize& run) {
  const bool rolls_back = config.train.on_nonfinite == OnNonfinite::rollback, averages = config.train.ema > 0;
  // a rollback point is a copy
  const double rows = (rolls_back ? 7 : 4) + (averages ? 1 : 0) + (averages && rolls_back ? 1 : 0);
  const double kept = bytes_per_float * (rows * static_cast<double>(run.parameters) -
                                         (rolls_back ? 2 : 1) * one_moment_parameters(config, run.vocab_size));
  return whole_bytes(kept + (run.cpu_engine ? of_cpu_engine(config, run) : of_autograd(config, run)));
}

std::int64_t disk_estimate(const Config& config, std::int64_t vocab_size, std::int64_t parameters) {
  const double beside = config.train.on_nonfinite == OnNonfinite::rollback ? 2 : 1;
  const double rows = config.train.ema > 0 ? 4 : 3;
  const double kept = rows * static_cast<double>(parameters) - one_moment_parameters(config, vocab_size);
  return whole_bytes(bytes_per_float * kept * (static_cast<double>(config.train.keep) + beside));
}

void check_memory(const Config& config, const RunSize& run, std::int64_t available) {
  const std::int64_t estimate = memory_estimate(config, run);
  if (static_cast<double>(estimate) / (run.cpu_engine ? 1.15 : 2) <= static_cast<double>(available)) return;
  const auto option = [](const char* name, std::int64_t value) { return name + (" = " + std::to_string(value)); };
  // the CPU engine takes one window a thread, however many are in a batch
  const std::string first = run.cpu_engine ? "--threads " + std::to_string(run.threads)
                                           : option("train.batch_size", config.train.batch_size) +
                                                 " (and raise train.gradient_accumulation_steps)";
  throw Error(ExitCode::memory, "training needs about " + format_bytes(estimate) + " of memory but " +
                                    (run.device.empty() ? "only " : run.device + " has only ") +
                                    format_bytes(available) + (run.device.empty() ? " is available" : "") +
                                    "; reduce " + first + ", " + option("model.block_size", config.model.block_size) +
                                    ", " + option("model.n_embd", config.model.n_embd) + " or " +
                                    option("model.n_layer", config.model.n_layer));
}

}  // namespace chargpt
