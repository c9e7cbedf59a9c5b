#include "train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "evaluate/split_loss.h"
#include "kernels/thread_team.h"
#include "network/model.h"
#include "network/window_scorer.h"
#include "predict/generate.h"
#include "predict/network.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

constexpr std::int64_t long_split = 131'072, least_scored = 32'768;
constexpr double most_of_run = 0.1;
constexpr const char* key = "eval.eval_iters";
const Origin long_split_origin{Origin::By::program, "a long validation split"};

}  // namespace

Evaluator::Evaluator(const Config& config, const Corpus& corpus, Learner& learner, const EventEmitter& emitter)
    : config_(config),
      vocabulary_(corpus.vocabulary()),
      learner_(learner),
      emitter_(emitter),
      val_cut_(corpus.val(), config.model.block_size),
      train_cut_(corpus.train(), config.model.block_size) {}

std::int64_t Evaluator::val_windows() const {
  const std::int64_t asked = config_.eval.eval_iters * config_.train.batch_size;
  return asked > 0 ? std::min(val_cut_.count(), asked) : val_cut_.count();
}

/// Spread evenly over the split; a quarter of what validation's exact loss takes is enough to see overfitting.
std::int64_t Evaluator::train_windows() const {
  const std::int64_t wanted =
      config_.eval.eval_iters > 0 ? val_windows() : std::max<std::int64_t>(1, val_windows() / 4);
  return std::min(train_cut_.count(), wanted);
}

std::int64_t Evaluator::windows_scored() const {
  return (learner_.config.ema > 0 ? 2 : 1) * val_windows() + train_windows();
}

EvaluationLosses Evaluator::evaluate(const Heartbeat& watch) {
  const bool averages = learner_.config.ema > 0;
  const double val_done = averages ? 0.4 : 0.7, train_done = averages ? 0.6 : 1;  // of the work
  const Heartbeat whole = [&watch, beat = emitter_.heartbeat("evaluating")](double part) {
    beat(part);
    if (watch) watch(part);
  };
  EvaluationLosses losses;
  losses.val = validation_loss(part_heartbeat(whole, 0, val_done));
  losses.train =
      sampled_loss(learner_.scorer, train_cut_, train_windows(), part_heartbeat(whole, val_done, train_done));
  if (!averages) return losses;
  const Learner::AveragesInUse in_use(learner_);
  losses.averaged_val = validation_loss(part_heartbeat(whole, train_done, 1));
  return losses;
}

double Evaluator::validation_loss(const Heartbeat& beat) {
  beat(0);
  if (exact()) return split_loss(learner_.scorer, val_cut_.tokens(), config_.model.block_size, 0, beat).mean;
  return sampled_loss(learner_.scorer, val_cut_, val_windows(), beat);
}

std::string Evaluator::sample_text(std::int64_t start) {
  SampleConfig sampling = config_.sample;
  sampling.tokens = config_.eval.sample_tokens;
  sampling.num_samples = 1;
  const Heartbeat heartbeat = emitter_.heartbeat("sampling");
  heartbeat(0);
  const ParameterArena& arena = learner_.current();
  const InferenceModel model(learner_.model, vocabulary_.size(), [&](const std::string& name, const auto& /*shape*/) {
    return arena.values_of(name).data();
  });
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

void limit_evaluations_of_long_split(ResolvedConfig& resolved, std::int64_t val_tokens) {
  lift_limit_of_evaluations(resolved);
  if (scores_part_of_long_split(resolved)) {  // in the run whose config this is, perhaps of another text
    resolved.config.eval.eval_iters = 0;
    resolved.origin[key] = {};
  }
  const Config& config = resolved.config;
  const bool is_asked = origin_of(resolved, key).by > Origin::By::preset;  // by a file or an option
  if (val_tokens <= long_split || config.eval.eval_iters > 0 || is_asked) return;
  const auto between = static_cast<double>(config.eval.eval_interval) * static_cast<double>(tokens_per_step(config));
  const double times_scored = (config.train.ema > 0 ? 2 : 1) + 0.25;  // averaged weights too; a quarter for train
  const double affordable = most_of_run * passes_of_step * between / times_scored;
  if (affordable >= static_cast<double>(val_tokens)) return;
  const double batch = static_cast<double>(config.train.batch_size * config.model.block_size);
  resolved.config.eval.eval_iters =
      std::max(1L, std::lround(std::max(affordable, static_cast<double>(least_scored)) / batch));
  resolved.origin[key] = long_split_origin;
}

bool scores_part_of_long_split(const ResolvedConfig& config) {
  return origin_of(config, key) == long_split_origin;
}

void record_losses(RunProgress& progress, const EvaluationLosses& losses) {
  progress.val_loss = losses.val;
  progress.averaged_val_loss = losses.averaged_val.value_or(std::numeric_limits<double>::infinity());
  if (progress.step == 0) return;
  const double better = std::min(progress.val_loss, progress.averaged_val_loss);
  if (better < progress.best_val_loss) {
    progress.best_val_loss = better;
    progress.best_step = progress.step;
    progress.evals_without_improvement = 0;
  } else {
    ++progress.evals_without_improvement;
  }
}

}  // namespace chargpt
