#include "experiment/planned_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/heartbeat.h"
#include "base/quantile.h"
#include "engine/device.h"
#include "evaluate/split_loss.h"
#include "experiment/kept_losses.h"
#include "experiment/runs.h"
#include "inference/model.h"
#include "inference/model_types.h"
#include "predict/network.h"
#include "report/json_text.h"
#include "run/checkpoints.h"
#include "run/kept_files.h"
#include "run/run_files.h"
#include "run/run_lock.h"
#include "text/text_place.h"
#include "train/conditions.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// Median speed of the steps it hears of.
class Speedometer : public Listener {
 public:
  using Listener::on;
  void on(const StepEvent& event) override { speeds_.push_back(event.tokens_per_second); }
  /// `otherwise`: where there was no step.
  double median_or(double otherwise) const { return speeds_.empty() ? otherwise : median(speeds_); }

 private:
  std::vector<double> speeds_;
};

/// Stops the run where it is asked to from outside, and at its target.
class Stopper : public Listener {
 public:
  using Listener::on;
  Stopper(const std::atomic<bool>* outside, std::optional<double> target) : outside_(outside), target_(target) {}
  void on(const WorkEvent&) override { look(); }
  void on(const StepEvent&) override { look(); }
  void on(const EvalEvent& event) override {
    const double loss = std::min(event.val_loss, event.averaged_val_loss.value_or(event.val_loss));
    if (target_ && loss <= *target_) reached_ = stop = true;
    look();
  }
  bool reached() const { return reached_; }
  bool stopped() const { return outside_ != nullptr && outside_->load(); }

  std::atomic<bool> stop = false;

 private:
  void look() {
    if (stopped()) stop = true;
  }
  const std::atomic<bool>* outside_;
  std::optional<double> target_;
  bool reached_ = false;
};

/// The text as run_all() left it, wherever that is.
Corpus text_of(const fs::path& run, const DataConfig& data, const ReadingProgress& reading) {
  if (auto places = text_places(data.text, data.units, run); !places.empty())
    return load_listed(std::move(places.front()), data, std::nullopt, reading);
  return load_corpus(data, std::nullopt, reading);
}

/// The whole training, from what is in the folder to what is kept there.
class Training {
 public:
  explicit Training(const PlannedTraining& training)
      : training_(training),
        begun_(last_checkpoint(training)),
        config_(begun_ ? begun_->config : config_of_run_folder(training.run)),  // the former with its length settled
        corpus_(text_of(training.run, config_.config.data, training.reading)) {
    if (training.within_train_split) corpus_ = train_split_of(corpus_);
  }

  bool run(const std::function<void(Trainer&, std::optional<std::int64_t>)>& listen) {
    Trainer trainer(config_, corpus_, options());
    const auto speedometer = std::make_shared<Speedometer>();
    trainer.add_listener(speedometer);
    if (begun_) trainer.resume_from(*begun_);
    listen(trainer, begun_ ? std::optional(begun_->state.step) : std::nullopt);
    trainer.add_listener(stopper_);
    try {
      trainer.plan(/*measure=*/false);
      write_config(trainer);  // before the first step
      if (trainer.run() == Ending::stopped && !stopper_->reached()) return false;
      write_config(trainer);  // what max_seconds has come to
      if (training_.scores) keep_losses(training_.run, scored(trainer, *speedometer));
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

 private:
  static std::optional<Checkpoint> last_checkpoint(const PlannedTraining& training) {
    if (list_checkpoints(training.run).empty()) return std::nullopt;
    std::vector<std::string> notices;
    Checkpoint checkpoint = load_checkpoint(training.run, "last", /*with_optimizer=*/true, &notices);
    if (training.told) training.told(notices);
    return checkpoint;
  }

  void write_config(const Trainer& trainer) const {
    write_file_atomically(training_.run / "config.json", json_text(to_json(trainer.config())));
  }

  /// A run that goes on keeps its number of threads, however many jobs there are now, unless one is asked for.
  TrainerOptions options() const {
    TrainerOptions options = training_.trainer;
    options.run = training_.run;
    options.process_started = 0;
    options.stop = &stopper_->stop;
    if (begun_) options = options_to_resume(options, begun_->state);
    if (!training_.replays.empty()) {
      const Config first = config_of_run_folder(training_.replays).config;
      options.settled = {.decay_steps = first.train.decay_steps, .eval_iters = first.eval.eval_iters};
    }
    const std::int64_t asked_for = training_.trainer.threads;
    if (training_.jobs > 1 && (asked_for > 0 || options.threads == 0))
      options.threads = std::max<std::int64_t>(1, (asked_for > 0 ? asked_for : physical_cores()) / training_.jobs);
    return options;
  }

  /// Of the last weights: the best checkpoint is the best on the very split that is scored, and a run that is evaluated
  /// more often would have more to choose from.
  KeptRun scored(Trainer& trainer, const Speedometer& speedometer) const {
    const Checkpoint last = load_checkpoint(training_.run, "last");
    trainer.use_weights(last);
    const std::int64_t block_size = config_.config.model.block_size;
    SplitLoss loss = split_loss(trainer.engine(), corpus_.val(), block_size, 0, until_stopped_);
    if (!std::isfinite(loss.mean))
      throw Error(ExitCode::diverged, "the weights of ", last.path.string(), " give no finite loss");
    const RunState& state = trainer.state();
    const auto tokens = static_cast<double>(state.step * tokens_per_step(trainer.config().config));
    KeptRun kept{.seed = {.seed = config_.config.train.seed,
                          .loss = loss.mean,
                          .seconds = state.seconds,
                          .tokens_per_second = speedometer.median_or(state.seconds > 0 ? tokens / state.seconds : 0),
                          .step = last.state.step,
                          .steps = state.step,
                          .ended = state.ended,
                          .jobs = training_.jobs,
                          .run = training_.run,
                          .losses = std::move(loss.losses)},
                 .params = state.parameters,
                 .block_size = block_size,
                 .leaks = leaks(config_.config.model),
                 .text = corpus_.fingerprint()};
    score_test_split(kept.seed);
    if (trainer.config().config.eval.eval_iters > 0) return kept;  // estimates compare with no loss of the split
    kept.seed.lowest_loss = last.state.best_val_loss;
    kept.seed.lowest_step = last.state.best_step;
    return kept;
  }

  /// Of the best checkpoint: the validation split chose it, and the test split chose nothing.
  void score_test_split(SeedRun& seed) const {
    if (corpus_.holdout().test == 0 || training_.stop_at) return;
    const Checkpoint best = load_checkpoint(training_.run, "best");
    const InferenceModel model(best, Weights::better);
    NetworkPredictor network(model, thread_count(options().threads));
    seed.test_scores = count_test_score(training_.run);
    seed.test_loss = split_loss(network, corpus_.test(), model.block_size(), 0, until_stopped_).mean;
  }

  const PlannedTraining& training_;
  const std::shared_ptr<Stopper> stopper_ = std::make_shared<Stopper>(training_.trainer.stop, training_.stop_at);
  std::optional<Checkpoint> begun_;
  ResolvedConfig config_;
  Corpus corpus_;
  const Heartbeat until_stopped_ = [this](double) {
    if (stopper_->stopped()) throw Interrupted{};
  };
};

}  // namespace

Corpus train_split_of(const Corpus& corpus) {
  check_separator(corpus);
  const auto whole = std::make_shared<Corpus>(corpus);
  const double part = corpus.holdout().fraction > 0 ? corpus.holdout().fraction : DataConfig{}.val_fraction;
  Corpus half(whole->vocabulary(), whole->train(), whole, {.fraction = part, .most = whole->holdout().most});
  return std::move(half).read_from(whole->listing());
}

void refuse_teachers_of_train_split(const ResolvedConfig& config) {
  if (!config.config.train.teacher.empty())
    throw with_origin(Error(ExitCode::usage, "train.teacher: ", config.config.name,
                            " would be scored on the end of the train split, which its teachers have learned from; "
                            "leave it out, or compare with --score-on val"),
                      config);
}

bool train_planned(const PlannedTraining& training,
                   const std::function<void(Trainer&, std::optional<std::int64_t> resume_step)>& listen) {
  const RunLock lock(training.run);
  remove_unfinished_files(training.run);
  return Training(training).run(listen);
}

}  // namespace chargpt
