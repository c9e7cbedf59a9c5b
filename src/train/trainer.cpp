#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "config/describe.h"
#include "config/load.h"
#include "engine/device.h"
#include "network/model_types.h"
#include "run/checkpoints.h"
#include "train/conditions.h"
#include "train/inherit.h"
#include "train/learner.h"
#include "train/plan.h"

namespace chargpt {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The corpus, after the checks that come before anything large is allocated.
Corpus checked(Corpus corpus, const Config& config, const std::string& engine, const std::string& device,
               std::int64_t threads) {
  check_model_config(config.model);
  check_splits(corpus, config.model.block_size);
  if (corpus.documents() > 0 && leaks(config.model))
    throw Error(ExitCode::usage,
                "model.causal = false sees the whole window, and with it other documents; leave it out, or "
                "data.documents and data.separator");
  const std::int64_t vocab_size = corpus.vocabulary().size();
  const RunSize run{.vocab_size = vocab_size,
                    .parameters = count_parameters(config.model, vocab_size),
                    .threads = threads,
                    .cpu_engine = chosen_engine(engine, config.model, config.train, device) == "cpu",
                    .text_bytes = device == "cpu" ? 0 : std::ssize(corpus.all().bytes()),
                    .device = device == "cpu" ? "" : device};
  const auto available = device == "cpu" ? physical_memory() : device_memory(device);
  if (available) check_memory(config, run, *available);
  return corpus;
}

}  // namespace

Trainer::Trainer(ResolvedConfig config, Corpus corpus, const TrainerOptions& options)
    : ranks_(options.ranks != nullptr ? *options.ranks : alone_),
      threads_(set_threads(options.threads)),
      device_(choose_device(options.device, options.engine)),
      corpus_(checked(std::move(corpus), config.config, options.engine, device_, threads_)),
      teachers_(config.config, corpus_, threads_),
      clock_(options.clock, options.process_started, ranks_),
      length_(std::move(config), corpus_.train().size(), options.settled, clock_),
      stop_(options.stop),
      emitter_(clock_, state_, ranks_.alone() ? stop_ : nullptr),  // several ranks end a step together, or not at all
      learner_(settings(), corpus_, device_, options.engine, ranks_),
      evaluator_(settings(), corpus_, learner_, emitter_),
      saver_(length_.config(), corpus_.vocabulary(), learner_, emitter_),
      divergence_(learner_, state_, saver_, emitter_) {
  state_ = {{.max_iters = length_.steps()}, conditions_here(learner_, corpus_, threads_, options.program_version)};
  clock_.start();
  if (!options.run.empty()) save_in(options.run);
  if (teachers_.empty()) return;
  state_.teachers = teachers_.weights();
  check_same_teachers(ranks_, state_.teachers);
  learner_.learn_from([this](const WindowBatch& windows, std::span<float> q) { teachers_.predict(windows, q); });
  notices_ = teachers_.notices();
}

void Trainer::save_in(const std::filesystem::path& run) {
  teachers_.refuse_own(run);
  saver_.save_in(run);
}

/// Takes over all of the checkpoint's progress; the parts drop what changed options have made void.
void Trainer::resume_from(const Checkpoint& checkpoint) {
  const std::string source = checkpoint.path.string();
  const Config &asked = length_.asked().config, &earlier = checkpoint.config.config;
  refuse_another_text(checkpoint, corpus_);
  refuse_changed_teachers(checkpoint, state_);
  RunProgress& progress = state_;
  progress = checkpoint.state;
  progress.ended = Ending::unknown;
  clock_.count_on_from(progress.seconds);
  if (progress.val_loss != infinite) evaluated_step_ = progress.step;
  saver_.go_on_from(checkpoint);
  if (!learner_.load(checkpoint))
    notices_.push_back(source + " has no averaged weights: averaging starts from its trained ones");
  for (const std::string& line : differing_conditions(checkpoint.state, state_)) notices_.push_back(line);
  for (const std::string& line : changed_options(earlier, asked)) notices_.push_back("changed: " + line);
  if (asked.train.patience != earlier.train.patience) begin_patience_anew();
  length_.resume(earlier.train);
  if (length_.by_clock() ? asked.train.max_seconds > earlier.train.max_seconds : length_.steps() > state_.max_iters)
    begin_patience_anew();  // more steps give the run time to improve again
  state_.max_iters = length_.steps();
  pace_guessed_ = false;
}

void Trainer::begin_patience_anew() {
  if (state_.evals_without_improvement == 0) return;
  state_.evals_without_improvement = 0;
  if (settings().train.patience > 0) notices_.emplace_back("patience starts over");
}

/// Of a forward pass: the second, as the first warms up.
double Trainer::seconds_per_window() {
  evaluator_.score_some();
  const double begun = clock_.now();
  const std::int64_t windows = evaluator_.score_some();
  return (clock_.now() - begun) / static_cast<double>(windows);
}

/// Until the run's own steps and evaluations tell, under max_seconds.
void Trainer::guess_pace() {
  if (!length_.by_clock() || pace_guessed_) return;
  constexpr double seconds_per_save = 0.05, bytes_saved_per_second = 2e8;
  const TrainConfig& train = settings().train;
  const double per_window = seconds_per_window();
  const double windows = static_cast<double>(train.batch_size * train.gradient_accumulation_steps);
  const double saved = checkpoint_bytes(learner_.arena);
  length_.expect(passes_of_step * windows * per_window,
                 {.evaluation = per_window * static_cast<double>(evaluator_.windows_scored()),
                  .save = seconds_per_save + saved / bytes_saved_per_second},
                 state_.step);
  state_.max_iters = length_.steps();
  pace_guessed_ = true;
  if (clock_.seconds() >= train.max_seconds)
    notices_.push_back(line_of("train.max_seconds = ", train.max_seconds,
                               " leaves no time to train: ", clock_.seconds(), " s had passed before the first step"));
}

/// For the steps to come; none if there are none or the run is to stop. The first of those timed warms up.
std::optional<double> Trainer::measured_seconds() {
  constexpr double enough = 0.3;
  const auto steps = static_cast<double>(state_.max_iters - state_.step);
  const auto evaluations = std::floor(steps / static_cast<double>(settings().eval.eval_interval)) + 2;
  std::int64_t made = 0, timed = 0;
  double spent = 0;
  try {
    while (static_cast<double>(made) < steps && spent < enough) {
      if (made == 1) spent = 0, timed = 0;
      const double begun = clock_.now();
      learner_.make_step(state_.step + made, emitter_.heartbeat("measuring"));
      learner_.engine->synchronize();
      spent += clock_.agreed(clock_.now() - begun);
      ++made, ++timed;
    }
    if (made == 0) return std::nullopt;
    return steps * spent / static_cast<double>(timed) +
           evaluations * seconds_per_window() * static_cast<double>(evaluator_.windows_scored());
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

PlanEvent Trainer::plan(bool measure) {
  guess_pace();
  PlanEvent event = plan_of(length_.config(), corpus_, learner_, state_);
  event.run = saver_.run().string();
  event.notices.insert(event.notices.begin(), notices_.begin(), notices_.end());
  if (measure) {
    event.seconds = measured_seconds();
    event.memory_bytes = peak_memory();
  }
  if (length_.by_clock()) {
    const double left = std::max(0.0, settings().train.max_seconds - clock_.seconds());
    event.seconds = std::min(left, event.seconds.value_or(left));
  }
  planned_ = event;
  return event;
}

/// Of several ranks each has read for itself what it starts from.
void Trainer::check_same_start() {
  if (ranks_.alone()) return;
  std::uint64_t sum = crc64(std::as_bytes(std::span(&state_.step, 1)));
  for (const ParameterGroup& group : learner_.current().groups()) sum = crc64(std::as_bytes(group.values.all()), sum);
  check_same(ranks_, sum, "starts from other weights or another step than rank 0; give all the same checkpoint");
}

void Trainer::announce() {
  check_same_start();
  const PlanEvent event = planned_ ? *planned_ : plan(/*measure=*/false);
  emitter_.emit(event);
  for (const std::string& line : event.notices) emitter_.notice(line);
}

/// Work that a stop has called off is left undone, and the run saved without it.
Ending Trainer::run_to_end() {
  announce();
  std::optional<Ending> ending;
  bool evaluated = false;  // at the end, which a save of the same step may not know
  try {
    if (evaluation_due() && evaluated_step_ != state_.step) evaluate_and_save();
    while (!(ending = reason_to_end())) {
      make_step();
      if (evaluation_due() && (reason_to_end() || length_.has_time_on_the_way(state_.step))) evaluate_and_save();
    }
    if (evaluated_step_ != state_.step && *ending != Ending::stopped) {
      evaluate();
      evaluated = true;
    }
  } catch (const Interrupted&) {
    ending = Ending::stopped;
  }
  state_.ended = *ending;
  if (evaluated || !agreed(ranks_, saver_.has_saved(state_.step))) save();
  return state_.ended;
}

StepEvent Trainer::make_step() {
  const double begun = clock_.now(), summed_before = ranks_.seconds();
  const StepResult result = learner_.make_step(state_.step, emitter_.heartbeat("updating"));
  if (const std::string line = learner_.engine->take_notice(); !line.empty()) emitter_.notice(line);
  stop_agreed_ = on_any(ranks_, stop_ != nullptr && stop_->load());
  divergence_.check_step(result);
  learner_.follow_averages();
  const double rate = learning_rate_at(settings().train, state_.step);
  ++state_.step;
  const double spent = clock_.now() - begun;
  state_.training_seconds += spent;
  state_.seconds = clock_.seconds();
  state_.val_loss = state_.averaged_val_loss = infinite;  // not evaluated here
  length_.follow_step(state_.step);
  if (!length_.cut()) state_.max_iters = length_.steps();
  const StepEvent event{
      .step = state_.step,
      .max_iters = state_.max_iters,
      .loss = result.loss,
      .lr = rate,
      .grad_norm = result.grad_norm,
      .tokens_per_second = static_cast<double>(tokens_per_step(settings())) / spent,
      .seconds = state_.seconds,
      .rank_seconds = ranks_.alone() ? std::nullopt : std::optional(ranks_.seconds() - summed_before)};
  emitter_.emit(event);
  return event;
}

std::optional<Ending> Trainer::reason_to_end() const {
  const std::int64_t patience = settings().train.patience;
  if (length_.cut()) return Ending::seconds;
  if (state_.step >= state_.max_iters) return Ending::finished;
  if (patience > 0 && state_.evals_without_improvement >= patience) return Ending::patience;
  if (stopped()) return Ending::stopped;
  return std::nullopt;
}

/// If called off on the way, it leaves nothing behind: a resumed run does it again.
void Trainer::evaluate() {
  saver_.check();  // without it there is no point in going on
  const EvaluationLosses losses = scored();
  divergence_.check_loss(losses.val);
  const std::optional<SampleEvent> text = sample();
  record_losses(state_, losses);
  evaluated_step_ = state_.step;
  emitter_.emit(EvalEvent{.step = state_.step,
                          .train_loss = losses.train,
                          .val_loss = losses.val,
                          .averaged_val_loss = losses.averaged_val,
                          .best = state_.best_step == state_.step,
                          .exact = evaluator_.exact(),
                          .leaks = leaks(learner_.model),
                          .best_val_loss = state_.step == 0 ? losses.val : state_.best_val_loss,
                          .seconds = clock_.seconds(),
                          .training_seconds = state_.training_seconds});
  if (text) emitter_.emit(*text);
}

/// One that would take too long, by its own pace so far, is begun again on a part of the windows: before half of it is
/// done; the last one afterwards too where it would end after max_seconds.
EvaluationLosses Trainer::scored() {
  struct TooSlow {
    double part;  ///< of the evaluation, for which there is time
  };
  const bool last = state_.step > 0 && reason_to_end().has_value();
  double most = length_.seconds_for_evaluation(last);
  const auto can_be_shorter = [&] {
    return std::isfinite(most) && evaluator_.val_windows() > settings().train.batch_size;
  };
  if (most <= 0 && can_be_shorter()) limit_evaluations(0);
  for (;;) {
    const double begun = clock_.now();
    double spent = 0, done = 0, pace = 0;  // seconds; a part; seconds for all by the last windows
    const Heartbeat watch = [&](double part) {
      constexpr double soonest = 0.1, latest = 0.5, wanted = 0.8;  // the first windows are cold
      const double before = std::exchange(spent, clock_.agreed(clock_.now() - begun)),
                   step = part - std::exchange(done, part);
      if (step > 0) pace = std::max(spent / part, (spent - before) / step);
      const double allowed = part < latest ? most : last ? most + length_.spare_seconds() : infinite;
      if (part == 0 || spent < soonest * most || spent < part * allowed) return;
      most = allowed - spent;
      throw TooSlow{wanted * std::max(0.0, most) / pace};
    };
    try {
      const EvaluationLosses losses = evaluator_.evaluate(can_be_shorter() ? watch : Heartbeat());
      length_.follow(&ClosingSeconds::evaluation, clock_.now() - begun);
      return losses;
    } catch (const TooSlow& slow) {
      limit_evaluations(slow.part);
    }
  }
}

void Trainer::limit_evaluations(double part) {
  const std::int64_t before = evaluator_.val_windows(), batch = settings().train.batch_size;
  const double splits = settings().train.ema > 0 ? 3 : 2;  // of as many windows each
  const double batches = part * static_cast<double>(evaluator_.windows_scored()) / splits / static_cast<double>(batch);
  const std::int64_t fewer =
      std::max<std::int64_t>(1, std::min(static_cast<std::int64_t>(batches), before / batch / 2));
  length_.limit_evaluations(fewer);
  emitter_.notice(line_of("an evaluation of ", before, " windows takes too much of train.max_seconds = ",
                          settings().train.max_seconds, ": from here on ", evaluator_.val_windows(), " are scored"));
}

/// None where the last evaluation has left no time for it.
std::optional<SampleEvent> Trainer::sample() {
  if (settings().eval.sample_tokens == 0 || length_.seconds_for_evaluation(/*last=*/true) < 0) return std::nullopt;
  const double begun = clock_.now();
  std::optional<SampleEvent> event;
  if (ranks_.first()) event = {state_.step, evaluator_.sample_text(state_.start_symbol)};
  length_.follow(&ClosingSeconds::sample, clock_.now() - begun);
  return event;
}

/// The loss of guessing, near ln V, is not worth a checkpoint.
void Trainer::evaluate_and_save() {
  evaluate();
  state_.ended = reason_to_end().value_or(Ending::unknown);
  if (state_.step == 0) return;
  try {
    save();
  } catch (const Error& failure) {
    if (failure.code() != ExitCode::io) throw;
    emitter_.notice(line_of(failure.what(), "; training goes on"));  // there will be another save
  }
}

void Trainer::save() {
  divergence_.check_weights();
  const double begun = clock_.now();
  emitter_.work("saving", saving_seconds_ > 0.5 ? WorkEvent::no_parts : 0);
  state_.seconds = clock_.seconds();
  std::exception_ptr failure;
  try {
    saver_.save(state_);
  } catch (const Error&) {
    failure = std::current_exception();
  }
  saving_seconds_ = clock_.now() - begun;
  length_.follow(&ClosingSeconds::save, saving_seconds_);  // the ranks that save nothing do too
  if (failure) std::rethrow_exception(failure);
}

EndEvent Trainer::ended() const {
  return {.ended = state_.ended,
          .step = state_.step,
          .max_iters = state_.max_iters,
          .patience = settings().train.patience,
          .max_seconds = settings().train.max_seconds,
          .seconds = state_.seconds};  // of the last save, from which a resumed run counts on
}

void Trainer::init_from(const Checkpoint& checkpoint) {
  notices_.push_back(inherit_weights(learner_.arena, settings(), corpus_.vocabulary(), checkpoint));
  learner_.start_from_weights();
}

void Trainer::use_weights(const Checkpoint& checkpoint) {
  learner_.arena.load_model(checkpoint.averaged.empty() ? checkpoint.model : checkpoint.averaged,
                            checkpoint.path.string());
  learner_.engine->take_over();
}

Ending Trainer::run() {
  try {
    const Ending ending = run_to_end();
    emitter_.emit(ended());
    return ending;
  } catch (const Error& error) {
    if (error.code() != ExitCode::diverged) throw;
    state_.ended = Ending::diverged;
    emitter_.emit(ended());
    throw;
  }
}

StepEvent Trainer::step() {
  guess_pace();
  return make_step();
}

}  // namespace chargpt
