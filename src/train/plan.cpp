#include "train/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "engine/device.h"
#include "kernels/kernels.h"
#include "network/forward.h"
#include "network/model_types.h"
#include "network/parameter_groups.h"
#include "network/window_scorer.h"
#include "report/format.h"
#include "train/evaluator.h"
#include "train/schedule.h"

namespace chargpt {
namespace {

/// Adds notices about options that have less effect on this machine than a user would expect.
void add_machine_notices(const TrainConfig& train, const Learner& learner, std::int64_t threads,
                         std::vector<std::string>& lines) {
  if (threads > physical_cores())
    lines.push_back(line_of(threads, " threads on ", format_count(physical_cores(), "physical core"),
                            ": more threads than cores slow training down"));
  if (learner.device != "cpu") return;
  if (train.dtype == Dtype::tf32) lines.emplace_back("train.dtype = tf32 is for CUDA; on the CPU it means float32");
  if (train.dtype == Dtype::bfloat16 && learner.engine->name() == "cpu" && cpu::bf16_kernels() == nullptr)
    lines.push_back(line_of("train.dtype = bfloat16 ", lacks_bf16, ": it is computed in float32"));
}

/// By measurements (configs/README.md), a text that is read this often is memorized before the run ends. Models of the
/// ladder, which have few parameters for their text, do not memorize it.
std::string short_text_warning(const PlanEvent& plan, const TrainConfig& train, std::int64_t interval) {
  constexpr double often = 20;
  if (plan.epochs < often || plan.parameters < plan.train_tokens) return "";
  const std::string line = "this run reads its " + format_count(plan.train_tokens) + " tokens " +
                           format_count(static_cast<std::int64_t>(plan.epochs)) + " times and has " +
                           format_count(plan.parameters) +
                           " parameters, so it will overfit: validation loss will rise well before the end";
  // The best evaluation, and those without improvement that end the run.
  if (train.patience > 0 && interval <= (plan.max_iters - 1) / (train.patience + 1))
    return line + " (train.patience ends the run then); give a longer text, or --max_epochs 5";
  return line + "; give a longer text, --max_epochs 5, or " +
         (train.patience > 0 ? "a smaller --eval_interval, so that train.patience can end the run" : "--patience 3");
}

std::vector<std::string> notices_of(const Config& config, const Learner& learner, std::int64_t threads,
                                    std::int64_t steps) {
  std::vector<std::string> lines = schedule_warnings(config.train, steps);
  if (const std::int64_t interval = config.eval.eval_interval; steps > 0 && interval > steps / 3)
    lines.push_back(line_of("eval.eval_interval = ", interval, " is longer than a third of this run of ",
                            format_count(steps, "step"), ": overfitting may go unseen; 0 evaluates each tenth of it"));
  add_machine_notices(config.train, learner, threads, lines);
  if (leaks(learner.model))
    lines.emplace_back("this model sees the symbols that it has to predict, so its loss means nothing");
  return lines;
}

constexpr double bytes_per_float = 4;

/// Size of one checkpoint in bytes: weights, moments and averages.
double checkpoint_bytes(const ParameterArena& arena) {
  std::int64_t floats = 0;
  for (const ParameterGroup& group : arena.groups())
    floats += group.parameters * ((keeps_second_moment(group.rule) ? 3 : 2) + (arena.averages.empty() ? 0 : 1));
  return bytes_per_float * static_cast<double>(floats);
}

/// Rounds to bytes. In double, because sums of products of options may exceed 2^63.
std::int64_t whole_bytes(double bytes) {
  return static_cast<std::int64_t>(
      std::min(bytes, 0.5 * static_cast<double>(std::numeric_limits<std::int64_t>::max())));
}

/// Threads of the CPU engine that have work.
double threads_at_work(const Config& config, const RunSize& run) {
  return static_cast<double>(std::min(config.train.batch_size, run.threads));
}

std::string shape_of(const ModelConfig& model) {
  if (model.type != "gpt") return "";
  return format_count(model.n_layer, "layer") + ", " + format_count(model.n_head, "head") + ", width " +
         std::to_string(model.n_embd);
}

/// Tokens whose activations are in memory at the same time.
double tokens_in_flight(const Config& config, const RunSize& run) {
  const auto B = static_cast<double>(config.train.batch_size), T = static_cast<double>(config.model.block_size);
  if (!run.cpu_engine) return B * T;
  const double threads = threads_at_work(config, run);
  return threads * std::min(std::ceil(B / threads) * T, std::max(T, static_cast<double>(cpu::Forward::chunk_rows)));
}

}  // namespace

std::vector<std::string> schedule_warnings(const TrainConfig& train, std::int64_t steps) {
  std::vector<std::string> lines;
  if (train.warmup_iters >= steps && steps > 0)
    lines.push_back(line_of("train.warmup_iters = ", train.warmup_iters, " is not below the run's ",
                            format_count(steps, "step"), ": the learning rate never reaches its peak"));
  if (train.lr_schedule != LrSchedule::constant && train.max_seconds == 0 && train.lr_decay_iters > steps)
    lines.push_back(
        line_of("train.lr_decay_iters = ", train.lr_decay_iters, " is beyond the run's ", format_count(steps, "step"),
                ": the learning rate never comes down to min_lr (0 makes the decay follow the run's length)"));
  return lines;
}

PlanEvent plan_of(const Config& config, const Corpus& corpus, const Learner& learner, const RunState& state,
                  std::int64_t steps) {
  PlanEvent plan;
  plan.config = config.name;
  plan.device = state.device;
  plan.cpu_capability = state.cpu_capability;
  plan.engine = state.engine;
  plan.dtype = enum_name(config.train.dtype);
  plan.model_type = config.model.type;
  plan.model_shape = shape_of(config.model);
  plan.threads = state.threads;
  plan.parameters = state.parameters;
  plan.vocab_size = corpus.vocabulary().size();
  plan.train_tokens = corpus.train().size();
  plan.val_tokens = corpus.val().size();
  plan.test_tokens = corpus.test_tokens();
  plan.text_tokens = corpus.all().size();
  plan.text_files = corpus.files();
  plan.left_out = corpus.listing().left_out;
  plan.tokens_per_step = tokens_per_step(config);
  plan.max_iters = steps;
  plan.start_step = state.step;
  plan.by_clock = config.train.max_seconds > 0 && (state.max_iters == 0 || steps < state.max_iters);
  plan.length_set_by = plan.by_clock ? "train.max_seconds"
                       : config.train.max_epochs > 0 && (config.train.max_iters == 0 || steps < config.train.max_iters)
                           ? "train.max_epochs"
                           : "train.max_iters";
  plan.epochs =
      static_cast<double>(steps) * static_cast<double>(plan.tokens_per_step) / static_cast<double>(plan.train_tokens);
  plan.disk_bytes =  // train.keep checkpoints and the best
      whole_bytes(checkpoint_bytes(learner.arena) * static_cast<double>(config.train.keep + 1));
  plan.leaks = leaks(learner.model);
  plan.notices = notices_of(config, learner, state.threads, steps);
  const std::int64_t given = evaluation_interval(config, state.max_iters),
                     interval = given > 0 ? given : steps / evaluations_of_run;
  if (const std::string line = short_text_warning(plan, config.train, interval); !line.empty())
    plan.notices.push_back(line);
  return plan;
}

std::int64_t memory_estimate(const Config& config, const RunSize& run) {
  const ModelConfig& model = config.model;
  const auto C = static_cast<double>(model.n_embd), L = static_cast<double>(model.n_layer),
             V = static_cast<double>(run.vocab_size);
  const double H = model.feed_forward ? static_cast<double>(mlp_width(model)) : 0;
  const double copies = 4 + (config.train.ema > 0 ? 1 : 0) + (run.cpu_engine ? 1 + threads_at_work(config, run) : 0);
  const double trained = tokens_in_flight(config, run), scored = run.cpu_engine       ? 0
                                                                 : run.device.empty() ? 4096
                                                                                      : tokens_scored_on_gpu;
  return run.text_bytes + whole_bytes(bytes_per_float * (copies * static_cast<double>(run.parameters) +
                                                         std::max(trained * L, scored) * (12 * C + 3 * H) +
                                                         std::max(trained, scored) * 3 * V));
}

void check_memory(const Config& config, const RunSize& run, std::int64_t available) {
  const std::int64_t estimate = memory_estimate(config, run);
  if (static_cast<double>(estimate) <= 1.5 * static_cast<double>(available)) return;
  const auto option = [](const char* name, std::int64_t value) { return name + (" = " + std::to_string(value)); };
  // The CPU engine takes one window per thread, whatever the batch size.
  const std::string first = run.cpu_engine ? "--threads " + std::to_string(run.threads)
                                           : option("train.batch_size", config.train.batch_size) +
                                                 " (and raise train.gradient_accumulation_steps)";
  throw Error(ExitCode::memory, "training needs about ", format_bytes(estimate), " of memory but ",
              run.device.empty() ? "only " : run.device + " has only ", format_bytes(available),
              run.device.empty() ? " is available" : "", "; reduce ", first, ", ",
              option("model.block_size", config.model.block_size), ", ", option("model.n_embd", config.model.n_embd),
              " or ", option("model.n_layer", config.model.n_layer));
}

}  // namespace chargpt
