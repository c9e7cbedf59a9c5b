#include "train/plan.h"

#include "base/line_of.h"
#include "engine/cpu_engine.h"
#include "engine/device.h"
#include "inference/model_types.h"
#include "report/format.h"
#include "train/evaluator.h"
#include "train/footprint.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

/// Options that this machine does not follow as one would expect.
std::vector<std::string> machine_notices(const TrainConfig& train, const Learner& learner, std::int64_t threads) {
  std::vector<std::string> lines;
  if (threads > physical_cores())
    lines.push_back(line_of(threads, " threads on ", physical_cores(),
                            " physical cores: more threads than cores slow training down"));
  if (learner.device != "cpu") return lines;
  if (const std::string missing = missing_instructions(); !missing.empty()) lines.push_back(missing);
  if (train.dtype == Dtype::tf32) lines.emplace_back("train.dtype = tf32 is for CUDA; on the CPU it means float32");
  if (train.dtype == Dtype::bfloat16 && !cpu_has_bfloat16())
    lines.emplace_back(
        "this CPU has no bfloat16 instructions: train.dtype = bfloat16 is emulated, slower than float32");
  return lines;
}

/// A text that is read this often is memorized before the run ends, by all that was measured (configs/README.md); by a
/// model of the ladder, with few parameters for its text, it is not.
std::string short_text_warning(const PlanEvent& plan) {
  constexpr double often = 20;
  if (plan.epochs < often || plan.parameters < plan.train_tokens) return "";
  return "this run reads its " + format_count(plan.train_tokens) + " tokens " +
         format_count(static_cast<std::int64_t>(plan.epochs)) + " times and has " + format_count(plan.parameters) +
         " parameters, so it will overfit: validation loss will rise well before the end; give a longer text, "
         "--max_epochs 5, or --patience 3";
}

std::vector<std::string> notices_of(const ResolvedConfig& config, const Learner& learner, std::int64_t threads) {
  std::vector<std::string> lines;
  if (const std::string lacks = cpu_engine_lacks(learner.model, learner.config);
      learner.device == "cpu" && learner.model.type == "gpt" && !lacks.empty())
    lines.push_back("the cpu engine does not support " + lacks + ", so libtorch trains this model, more slowly");
  append(lines, schedule_warnings(config.config.train));
  if (scores_part_of_long_split(config))
    lines.push_back(line_of("evaluations during training score ",
                            config.config.eval.eval_iters * config.config.train.batch_size,
                            " windows of the long validation split; --eval_iters 0 scores all of it"));
  append(lines, machine_notices(config.config.train, learner, threads));
  if (leaks(learner.model))
    lines.emplace_back("this model sees the symbols that it has to predict, so its loss means nothing");
  return lines;
}

}  // namespace

std::vector<std::string> schedule_warnings(const TrainConfig& train) {
  std::vector<std::string> lines;
  if (train.warmup_iters >= train.max_iters && train.max_iters > 0)
    lines.push_back(line_of("train.warmup_iters = ", train.warmup_iters, " is not below the run's ", train.max_iters,
                            " steps: the learning rate never reaches its peak"));
  if (train.lr_schedule != LrSchedule::constant && train.lr_decay_iters > train.max_iters)
    lines.push_back(
        line_of("train.lr_decay_iters = ", train.lr_decay_iters, " is beyond the run's ", train.max_iters,
                " steps: the learning rate never comes down to min_lr (0 makes the decay follow the run's length)"));
  return lines;
}

PlanEvent plan_of(const ResolvedConfig& resolved, const Corpus& corpus, const Learner& learner, const RunState& state) {
  const Config& config = resolved.config;
  PlanEvent plan;
  plan.config = config.name;
  plan.device = state.device;
  plan.cpu_capability = state.cpu_capability;
  plan.engine = state.engine;
  plan.dtype = enum_name(config.train.dtype);
  plan.model_type = config.model.type;
  plan.threads = state.threads;
  plan.parameters = state.parameters;
  plan.vocab_size = corpus.vocabulary().size();
  plan.train_tokens = corpus.train().size();
  plan.val_tokens = corpus.val().size();
  plan.test_tokens = corpus.test_tokens();
  plan.text_tokens = corpus.all().size();
  plan.text_files = corpus.files();
  plan.tokens_per_step = tokens_per_step(config);
  plan.max_iters = state.max_iters;
  plan.start_step = state.step;
  plan.length_set_by = length_set_by(resolved);
  plan.longer_limits = length_limits(resolved);
  std::erase(plan.longer_limits, plan.length_set_by);
  plan.epochs = static_cast<double>(state.max_iters) * static_cast<double>(plan.tokens_per_step) /
                static_cast<double>(plan.train_tokens);
  plan.disk_bytes = disk_estimate(config, plan.vocab_size, plan.parameters);
  plan.leaks = leaks(learner.model);
  plan.notices = notices_of(resolved, learner, state.threads);
  if (const std::string line = short_text_warning(plan); !line.empty()) plan.notices.push_back(line);
  return plan;
}

}  // namespace chargpt
