#include "train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/thread_team.h"
#include "network/model.h"
#include "network/window_scorer.h"
#include "predict/generate.h"
#include "predict/network.h"
#include "train/schedule.h"

namespace chargpt {
namespace {

constexpr std::int64_t least_scored = 32'768;            ///< tokens
constexpr double most_of_run = 0.25, part_of_run = 0.1;  ///< limits for evaluations of all windows, and of a part

}  // namespace

Evaluator::Evaluator(const Config& config, const Corpus& corpus, Learner& learner, const EventEmitter& emitter)
    : config_(config),
      vocabulary_(corpus.vocabulary()),
      learner_(learner),
      emitter_(emitter),
      val_cut_(corpus.val(), config.model.block_size),
      train_cut_(learner.batches.scored()) {}

/// Windows of the train split, spread evenly. A quarter of the validation windows is enough to show overfitting.
std::int64_t Evaluator::train_windows(std::int64_t val_windows) const {
  return std::min(train_cut_.count(), std::max<std::int64_t>(1, val_windows / 4));
}

std::int64_t Evaluator::windows_scored(std::int64_t val_windows) const {
  return (learner_.config.ema > 0 ? 2 : 1) * val_windows + train_windows(val_windows);
}

EvaluationLosses Evaluator::evaluate(std::int64_t val_windows) {
  const bool averages = learner_.config.ema > 0;
  const double val_done = averages ? 0.4 : 0.7, train_done = averages ? 0.6 : 1;  // of the work
  const Heartbeat whole = emitter_.heartbeat("evaluating");
  EvaluationLosses losses;
  SplitLoss val = validation_loss(val_windows, part_heartbeat(whole, 0, val_done));
  losses.val = val.mean;
  losses.of_tokens = std::move(val.losses);
  losses.train = sampled_loss(learner_.scorer, train_cut_, train_windows(val_windows),
                              part_heartbeat(whole, val_done, train_done));
  if (!averages) return losses;
  learner_.engine->swap_averages();
  try {
    val = validation_loss(val_windows, part_heartbeat(whole, train_done, 1));
  } catch (...) {
    learner_.engine->swap_averages();
    throw;
  }
  learner_.engine->swap_averages();
  losses.averaged_val = val.mean;
  if (val.mean < losses.val) losses.of_tokens = std::move(val.losses);
  return losses;
}

SplitLoss Evaluator::validation_loss(std::int64_t val_windows, const Heartbeat& beat) {
  beat(0);
  if (val_windows >= all_windows())
    return split_loss(learner_.scorer, val_cut_.tokens(), config_.model.block_size, 0, beat);
  return {.losses = {}, .mean = sampled_loss(learner_.scorer, val_cut_, val_windows, beat)};
}

std::string Evaluator::sample_text(std::int64_t start) {
  SampleConfig sampling = config_.sample;
  sampling.tokens = config_.eval.sample_tokens;
  sampling.num_samples = 1;
  const Heartbeat heartbeat = emitter_.heartbeat("sampling");
  heartbeat(0);
  const ParameterArena& arena = learner_.current();
  const InferenceModel model(learner_.model,
                             plan_in(arena, learner_.model, vocabulary_.size(), learner_.config, cpu::Packing::forward),
                             arena.values.data());
  std::vector<std::int64_t> ids;
  NetworkPredictor network(model, cpu::threads_in_force());
  generate(network, {start}, sampling, static_cast<std::uint64_t>(config_.train.seed),
           [&](std::int64_t, std::int64_t id) {
             if (id == vocabulary_.document()) return false;
             ids.push_back(id);
             heartbeat(static_cast<double>(ids.size()) / static_cast<double>(sampling.tokens));
             return true;
           });
  return vocabulary_.decode(ids);
}

std::int64_t Evaluator::score_some() {
  const std::int64_t windows = std::max<std::int64_t>(1, learner_.scorer.tokens_at_once() / config_.model.block_size);
  sampled_loss(learner_.scorer, train_cut_, windows, emitter_.heartbeat("measuring"));
  return std::min(windows, train_cut_.count());
}

std::int64_t windows_to_score(const Config& config, std::int64_t val_tokens, std::int64_t interval) {
  if (config.eval.eval_iters > 0) return config.eval.eval_iters * config.train.batch_size;
  const double scored = (config.train.ema > 0 ? 2 : 1) + 0.25;  // averaged weights too; a quarter for train
  // Tokens of the split that take as long to score as the steps between two evaluations.
  const double as_long = passes_of_step * static_cast<double>(interval * tokens_per_step(config)) / scored;
  const std::int64_t part = std::max<std::int64_t>(least_scored, std::llround(part_of_run * as_long));
  const bool all = static_cast<double>(val_tokens) <= most_of_run * as_long || val_tokens <= part;
  return all ? std::numeric_limits<std::int64_t>::max() : std::max<std::int64_t>(1, part / config.model.block_size);
}

void record_losses(RunProgress& progress, const EvaluationLosses& losses, double guessing) {
  progress.val_loss = losses.val;
  progress.averaged_val_loss = losses.averaged_val.value_or(std::numeric_limits<double>::infinity());
  if (progress.step == 0) return;
  const double better = std::min(progress.val_loss, progress.averaged_val_loss);
  if (better < std::min(progress.best_val_loss, guessing)) {
    progress.best_val_loss = better;
    progress.best_step = progress.step;
    progress.evals_without_improvement = 0;
  } else {
    ++progress.evals_without_improvement;
  }
}

}  // namespace chargpt
