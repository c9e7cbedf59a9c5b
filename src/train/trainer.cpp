#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/line_of.h"
#include "base/memory.h"
#include "config/changed_options.h"
#include "engine/device.h"
#include "inference/model_types.h"
#include "learner/learner.h"
#include "learner/schedule.h"
#include "parameters/initial_weights.h"
#include "run/checkpoints.h"
#include "train/conditions.h"
#include "train/emitter.h"
#include "train/evaluator.h"
#include "train/footprint.h"
#include "train/inherit.h"
#include "train/nonfinite.h"
#include "train/plan.h"
#include "train/sampling.h"
#include "train/saving.h"

namespace chargpt {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// What can be refused is refused before anything large is allocated. Bytes of the process at its peak or, of a run on
/// another device, of that device.
std::int64_t checked_memory(const Config& config, const Corpus& corpus, const std::string& device, std::int64_t threads,
                            const TrainerOptions& options) {
  check_model_config(config.model);
  check_splits(corpus, config.model.block_size);
  const std::int64_t vocab_size = corpus.vocabulary().size();
  const RunSize run{.vocab_size = vocab_size,
                    .parameters = count_parameters(config.model, vocab_size),
                    .threads = threads,
                    .cpu_engine = chosen_engine(options.engine, config.model, config.train, device) == "cpu",
                    .device = device == "cpu" ? "" : device};
  const std::int64_t training = memory_estimate(config, run);
  if (device != "cpu") {
    if (const auto available = device_memory(device)) check_memory(config, run, *available);
    return training;
  }
  check_memory(config, run, physical_memory());
  // What the first operations touch of the program's code and heap, and of LibTorch as it is loaded: measured.
  constexpr std::int64_t program = 6'000'000, of_each_thread = 2'000'000, libtorch = 110'000'000;
  return resident_memory() + program + threads * of_each_thread + (run.cpu_engine ? 0 : libtorch) + training +
         options.memory_after_run;
}

}  // namespace

/// The parts, in the order in which they need each other, and the loop that uses them.
struct Trainer::Impl {
  Impl(ResolvedConfig config, Corpus corpus_in, const TrainerOptions& options);

  void resume_from(const Checkpoint& checkpoint);
  void guess_pace();
  double seconds_per_window();
  std::optional<double> measured_seconds();
  void begin_patience_anew();
  PlanEvent plan(bool measure);
  void announce();

  Ending run_to_end();
  StepEvent step();
  std::optional<Ending> reason_to_end() const;
  void evaluate();
  EvaluationLosses scored();
  std::optional<SampleEvent> sample();
  void limit_evaluations(double part);
  void evaluate_and_save();
  void save();
  void save_or_notice();
  EndEvent end_event() const;

  const Config& settings() const { return length.config().config; }
  bool stopped() const { return ranks.alone() ? emitter.stopped() : stop_agreed; }
  bool evaluation_due() const { return state.step % settings().eval.eval_interval == 0; }

  OneProcess alone;
  Communicator& ranks;
  const std::int64_t threads;
  const std::string device;
  const Corpus corpus;
  const std::int64_t memory_bytes;  ///< estimated
  RunClock clock;
  RunLength length;
  RunState state;
  const std::atomic<bool>* stop;
  EventEmitter emitter;
  Learner learner;
  Evaluator evaluator;
  Saver saver;
  NonfinitePolicy policy;
  std::vector<std::string> notices;  ///< for the plan
  std::optional<PlanEvent> planned;
  std::int64_t evaluated_step = RunProgress::no_step;
  bool stop_agreed = false;  ///< of several ranks
  bool pace_guessed = false;
  double saving_seconds = 0;  ///< of the last save
};

Trainer::Impl::Impl(ResolvedConfig config, Corpus corpus_in, const TrainerOptions& options)
    : ranks(options.ranks != nullptr ? *options.ranks : alone),
      threads(set_threads(options.threads)),
      device(choose_device(options.device)),
      corpus(std::move(corpus_in)),
      memory_bytes(checked_memory(config.config, corpus, device, threads, options)),
      clock(options.clock, options.process_started, ranks),
      length(std::move(config), corpus.train().size(), options.settled, clock),
      stop(options.stop),
      emitter(clock, state, ranks.alone() ? stop : nullptr),  // several ranks end a step together, or not at all
      learner(settings(), corpus, device, options.engine, ranks),
      evaluator(settings(), corpus, learner, emitter),
      saver(options.run, length.config(), corpus.vocabulary(), learner, emitter),
      policy(learner, state, saver, emitter) {
  state = {{.max_iters = length.steps(), .initial_weights = initial_weights_scheme},
           conditions_here(learner, corpus, threads, options.program_version)};
  clock.start();
}

/// Takes over all of the checkpoint's progress; the parts drop what changed options have made void.
void Trainer::Impl::resume_from(const Checkpoint& checkpoint) {
  const std::string source = checkpoint.path.string();
  const Config &asked = length.asked().config, &earlier = checkpoint.config.config;
  refuse_another_text(checkpoint, corpus);
  if (!checkpoint.optimizer) throw Error(ExitCode::internal, source + " was loaded without its optimizer");
  RunProgress& progress = state;
  progress = checkpoint.state;
  progress.ended = Ending::unknown;
  clock.count_on_from(progress.seconds);
  if (progress.val_loss != infinite) evaluated_step = progress.step;
  saver.go_on_from(checkpoint);
  if (const std::string line = policy.resume(checkpoint); !line.empty()) notices.push_back(line);
  if (!learner.load(checkpoint))
    notices.push_back(source + " has no averaged weights: averaging starts from its trained ones");
  for (const std::string& line : differing_conditions(checkpoint.state, state)) notices.push_back(line);
  for (const std::string& line : changed_options(earlier, asked)) notices.push_back("changed: " + line);
  if (asked.train.patience != earlier.train.patience) begin_patience_anew();
  length.resume(earlier.train);
  if (length.by_clock() ? asked.train.max_seconds > earlier.train.max_seconds : length.steps() > state.max_iters)
    begin_patience_anew();  // more steps give the run time to improve again
  state.max_iters = length.steps();
  pace_guessed = false;
}

void Trainer::Impl::begin_patience_anew() {
  if (state.evals_without_improvement == 0) return;
  state.evals_without_improvement = 0;
  if (settings().train.patience > 0) notices.emplace_back("patience starts over");
}

/// Of a forward pass: the second, as the first warms up.
double Trainer::Impl::seconds_per_window() {
  evaluator.score_some();
  const double begun = clock.now();
  const std::int64_t windows = evaluator.score_some();
  return (clock.now() - begun) / static_cast<double>(windows);
}

/// Until the run's own steps and evaluations tell, under max_seconds.
void Trainer::Impl::guess_pace() {
  if (!length.by_clock() || pace_guessed) return;
  constexpr double seconds_per_save = 0.05, bytes_saved_per_second = 2e8;
  const TrainConfig& train = settings().train;
  const double per_window = seconds_per_window();
  const double windows = static_cast<double>(train.batch_size * train.gradient_accumulation_steps);
  const double saved =
      static_cast<double>(disk_estimate(settings(), corpus.vocabulary().size(), learner.arena.numel())) /
      static_cast<double>(train.keep + 1);
  length.expect(passes_of_step * windows * per_window,
                {.evaluation = per_window * static_cast<double>(evaluator.windows_scored()),
                 .save = seconds_per_save + saved / bytes_saved_per_second},
                state.step);
  state.max_iters = length.steps();
  pace_guessed = true;
  if (clock.seconds() >= train.max_seconds)
    notices.push_back(line_of("train.max_seconds = ", train.max_seconds, " leaves no time to train: ", clock.seconds(),
                              " s had passed before the first step"));
}

/// For the steps to come; none if there are none or the run is to stop. The first of those timed warms up.
std::optional<double> Trainer::Impl::measured_seconds() {
  constexpr double enough = 0.3;
  const auto steps = static_cast<double>(state.max_iters - state.step);
  const auto evaluations = std::floor(steps / static_cast<double>(settings().eval.eval_interval)) + 2;
  std::int64_t made = 0, timed = 0;
  double spent = 0;
  try {
    while (static_cast<double>(made) < steps && spent < enough) {
      if (made == 1) spent = 0, timed = 0;
      const double begun = clock.now();
      learner.make_step(state.step + made, emitter.heartbeat("measuring"));
      learner.engine->synchronize();
      spent += clock.now() - begun;
      ++made, ++timed;
    }
    if (made == 0) return std::nullopt;
    return steps * spent / static_cast<double>(timed) +
           evaluations * seconds_per_window() * static_cast<double>(evaluator.windows_scored());
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

PlanEvent Trainer::Impl::plan(bool measure) {
  guess_pace();
  PlanEvent event = plan_of(length.config(), corpus, learner, state);
  event.run = saver.run().string();
  event.memory_bytes = memory_bytes;
  event.notices.insert(event.notices.begin(), notices.begin(), notices.end());
  if (measure) event.seconds = measured_seconds();
  if (length.by_clock()) {
    const double left = std::max(0.0, settings().train.max_seconds - clock.seconds());
    event.seconds = std::min(left, event.seconds.value_or(left));
  }
  planned = event;
  return event;
}

void Trainer::Impl::announce() {
  saver.open();
  const PlanEvent event = planned ? *planned : plan(/*measure=*/false);
  emitter.emit(event);
  for (const std::string& line : event.notices) emitter.notice(line);
}

/// Work that a stop has called off is left undone, and the run saved without it.
Ending Trainer::Impl::run_to_end() {
  announce();
  std::optional<Ending> ending;
  try {
    if (evaluation_due() && evaluated_step != state.step) evaluate_and_save();
    policy.before_first_step();
    while (!(ending = reason_to_end())) {
      step();
      if (evaluation_due() && (reason_to_end() || length.has_time_on_the_way(state.step))) evaluate_and_save();
    }
    if (evaluated_step != state.step && *ending != Ending::stopped) evaluate();
  } catch (const Interrupted&) {
    ending = Ending::stopped;
  }
  state.ended = *ending;
  if (!saver.has_saved(state.step)) save();
  saver.finish(state);
  return state.ended;
}

StepEvent Trainer::Impl::step() {
  const double begun = clock.now(), summed_before = ranks.seconds();
  const StepResult result = learner.make_step(state.step, emitter.heartbeat("updating"));
  if (const std::string line = learner.engine->take_notice(); !line.empty()) emitter.notice(line);
  stop_agreed = on_any(ranks, stop != nullptr && stop->load());
  if (policy.accepts(result)) learner.follow_averages();
  const double rate = learning_rate_at(settings().train, state.step);
  ++state.step;
  const double spent = clock.now() - begun;
  state.training_seconds += spent;
  state.seconds = clock.seconds();
  state.val_loss = state.averaged_val_loss = infinite;  // not evaluated here
  length.follow_step(state.step);
  if (!length.cut()) state.max_iters = length.steps();
  const StepEvent event{.step = state.step,
                        .max_iters = state.max_iters,
                        .loss = result.loss,
                        .lr = rate,
                        .grad_norm = result.grad_norm,
                        .tokens_per_second = static_cast<double>(tokens_per_step(settings())) / spent,
                        .seconds = state.seconds,
                        .rank_seconds = ranks.alone() ? std::nullopt : std::optional(ranks.seconds() - summed_before)};
  emitter.emit(event);
  return event;
}

std::optional<Ending> Trainer::Impl::reason_to_end() const {
  const std::int64_t patience = settings().train.patience;
  if (length.cut()) return Ending::seconds;
  if (state.step >= state.max_iters) return Ending::finished;
  if (patience > 0 && state.evals_without_improvement >= patience) return Ending::patience;
  if (stopped()) return Ending::stopped;
  return std::nullopt;
}

/// If called off on the way, it leaves nothing behind: a resumed run does it again.
void Trainer::Impl::evaluate() {
  saver.check();  // without it there is no point in going on
  EvaluationLosses losses = scored();
  if (policy.takes_back(losses.val)) losses = scored();
  const std::optional<SampleEvent> text = std::isfinite(losses.val) ? sample() : std::nullopt;
  record_losses(state, losses);
  evaluated_step = state.step;
  emitter.emit(EvalEvent{.step = state.step,
                         .train_loss = losses.train,
                         .val_loss = losses.val,
                         .averaged_val_loss = losses.averaged_val,
                         .best = state.best_step == state.step,
                         .exact = evaluator.exact(),
                         .leaks = leaks(learner.model),
                         .best_val_loss = state.step == 0 ? losses.val : state.best_val_loss,
                         .seconds = clock.seconds(),
                         .training_seconds = state.training_seconds});
  if (text) emitter.emit(*text);
}

namespace {

/// Thrown where an evaluation would take too long: what is left of it, as a part, fits.
struct TooSlow {
  double part = 0;
};

}  // namespace

/// One that would take too long, by its own pace so far, is begun again on a part of the windows: before half of it is
/// done; the last one afterwards too where it would end after max_seconds.
EvaluationLosses Trainer::Impl::scored() {
  const bool last = state.step > 0 && reason_to_end().has_value();
  double most = length.seconds_for_evaluation(last);
  const auto can_be_shorter = [&] {
    return std::isfinite(most) && evaluator.val_windows() > settings().train.batch_size;
  };
  if (most <= 0 && can_be_shorter()) limit_evaluations(0);
  for (;;) {
    const double begun = clock.now();
    double spent = 0, done = 0, pace = 0;  // seconds; a part; seconds for all by the last windows
    const Heartbeat watch = [&](double part) {
      constexpr double soonest = 0.1, latest = 0.5, planned = 0.8;  // the first windows are cold
      const double before = std::exchange(spent, clock.agreed(clock.now() - begun)),
                   step = part - std::exchange(done, part);
      if (step > 0) pace = std::max(spent / part, (spent - before) / step);
      const double allowed = part < latest ? most : last ? most + length.spare_seconds() : infinite;
      if (part == 0 || spent < soonest * most || spent < part * allowed) return;
      most = allowed - spent;
      throw TooSlow{planned * std::max(0.0, most) / pace};
    };
    try {
      const EvaluationLosses losses = evaluator.evaluate(can_be_shorter() ? watch : Heartbeat());
      length.follow(&ClosingSeconds::evaluation, clock.now() - begun);
      return losses;
    } catch (const TooSlow& slow) {
      limit_evaluations(slow.part);
    }
  }
}

void Trainer::Impl::limit_evaluations(double part) {
  const std::int64_t before = evaluator.val_windows(), batch = settings().train.batch_size;
  const double splits = settings().train.ema > 0 ? 3 : 2;  // of as many windows each
  const double batches = part * static_cast<double>(evaluator.windows_scored()) / splits / static_cast<double>(batch);
  const std::int64_t fewer =
      std::max<std::int64_t>(1, std::min(static_cast<std::int64_t>(batches), before / batch / 2));
  length.limit_evaluations(fewer);
  emitter.notice(line_of("an evaluation of ", before, " windows takes too much of train.max_seconds = ",
                         settings().train.max_seconds, ": from here on ", evaluator.val_windows(), " are scored"));
}

/// None where the last evaluation has left no time for it.
std::optional<SampleEvent> Trainer::Impl::sample() {
  if (settings().eval.sample_tokens == 0 || length.seconds_for_evaluation(/*last=*/true) < 0) return std::nullopt;
  const double begun = clock.now();
  std::optional<SampleEvent> event;
  if (ranks.first())
    event = {state.step,
             sample_text(learner, corpus.vocabulary(), state.start_symbol, settings(), emitter.heartbeat("sampling"))};
  length.follow(&ClosingSeconds::sample, clock.now() - begun);
  return event;
}

/// The loss of guessing, near ln V, is not worth a checkpoint, unless a rollback may return to it.
void Trainer::Impl::evaluate_and_save() {
  evaluate();
  policy.keep_rollback_point();
  state.ended = reason_to_end().value_or(Ending::unknown);
  if (state.step > 0 || policy.rolls_back()) save_or_notice();
}

void Trainer::Impl::save() {
  policy.check_weights();
  const double begun = clock.now();
  emitter.work("saving", saving_seconds > 0.5 ? WorkEvent::no_parts : 0);
  state.seconds = clock.seconds();
  saver.save(state);
  saving_seconds = clock.now() - begun;
  length.follow(&ClosingSeconds::save, saving_seconds);
}

/// There will be another save.
void Trainer::Impl::save_or_notice() {
  try {
    save();
  } catch (const Error& failure) {
    if (failure.code() != ExitCode::io) throw;
    emitter.notice(line_of(failure.what(), "; training goes on"));
  }
}

EndEvent Trainer::Impl::end_event() const {
  return {.ended = state.ended,
          .step = state.step,
          .max_iters = state.max_iters,
          .patience = settings().train.patience,
          .max_seconds = settings().train.max_seconds,
          .seconds = clock.seconds()};
}

Trainer::Trainer(ResolvedConfig config, Corpus corpus, TrainerOptions options)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(corpus), options)) {}
Trainer::~Trainer() = default;

void Trainer::resume_from(const Checkpoint& checkpoint) {
  impl_->resume_from(checkpoint);
}

void Trainer::init_from(const Checkpoint& checkpoint) {
  Learner& learner = impl_->learner;
  impl_->notices.push_back(inherit_weights(learner.arena, impl_->settings(), impl_->corpus.vocabulary(), checkpoint));
  learner.start_from_weights();
}

void Trainer::use_weights(const Checkpoint& checkpoint) {
  Learner& learner = impl_->learner;
  const bool averaged = checkpoint.averaged != nullptr;
  learner.arena.load_model(averaged ? *checkpoint.averaged : *checkpoint.model,
                           (checkpoint.path / (averaged ? "averaged.safetensors" : "model.safetensors")).string());
  learner.engine->take_over();
}

void Trainer::add_listener(std::shared_ptr<Listener> listener) {
  impl_->emitter.add_listener(std::move(listener));
}

PlanEvent Trainer::plan(bool measure) {
  return impl_->plan(measure);
}

Ending Trainer::run() {
  try {
    const Ending ending = impl_->run_to_end();
    impl_->emitter.emit(impl_->end_event());
    return ending;
  } catch (const Error& error) {
    if (error.code() != ExitCode::diverged) throw;
    impl_->state.ended = Ending::diverged;
    impl_->emitter.emit(impl_->end_event());
    throw;
  }
}

StepEvent Trainer::step() {
  impl_->guess_pace();
  impl_->policy.before_first_step();
  return impl_->step();
}

const RunState& Trainer::state() const {
  return impl_->state;
}
EndEvent Trainer::ended() const {
  return impl_->end_event();
}
double Trainer::seconds() const {
  return impl_->clock.seconds();
}
const ResolvedConfig& Trainer::config() const {
  return impl_->length.config();
}
const Corpus& Trainer::corpus() const {
  return impl_->corpus;
}
Engine& Trainer::engine() {
  return *impl_->learner.engine;
}
ParameterArena& Trainer::arena() {
  return impl_->learner.current();
}

}  // namespace chargpt
