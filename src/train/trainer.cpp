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
#include "engine/cpu_engine.h"
#include "engine/device.h"
#include "inference/model_types.h"
#include "learner/learner.h"
#include "learner/schedule.h"
#include "model/registry.h"
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
std::int64_t checked_memory(const Config& config, const Corpus& corpus, const torch::Device& device,
                            std::int64_t threads, const TrainerOptions& options) {
  check_model_config(config.model);
  check_splits(corpus, config.model.block_size);
  const std::int64_t vocab_size = corpus.vocabulary().size();
  const RunSize run{.vocab_size = vocab_size,
                    .parameters = count_parameters(config.model, vocab_size),
                    .threads = threads,
                    .cpu_engine = device.is_cpu() && options.engine != "autograd" && options.engine != "cuda" &&
                                  cpu_engine_lacks(config.model).empty(),
                    .device = device.is_cpu() ? "" : device_name(device)};
  const std::int64_t training = memory_estimate(config, run);
  if (!device.is_cpu()) {
    if (const auto available = device_memory(device)) check_memory(config, run, *available);
    return training;
  }
  check_memory(config, run, physical_memory());
  constexpr std::int64_t first_operations = 14'000'000;  // what they touch of LibTorch's code, measured
  return resident_memory() + first_operations + training + options.closing.memory;
}

}  // namespace

/// The parts, in the order in which they need each other, and the loop that uses them.
struct Trainer::Impl {
  Impl(ResolvedConfig config, Corpus corpus_in, const TrainerOptions& options);

  void resume_from(const Checkpoint& checkpoint);
  void settle_length();
  void take_length();
  void begin_patience_anew();
  PlanEvent plan(bool measure);
  void announce();

  Ending run_to_end();
  StepEvent step();
  std::optional<Ending> reason_to_end() const;
  bool evaluates_at(Ending ending) const;
  void evaluate();
  std::optional<SampleEvent> sample();
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
  const torch::Device device;
  const Corpus corpus;
  const std::int64_t memory_bytes;  ///< estimated
  RunClock clock;
  RunLength length;
  RunState state;
  const std::atomic<bool>* stop;
  EventEmitter emitter;
  Learner learner;
  Evaluator evaluator;
  PaceMeter meter;
  TrainingFolder folder;
  Saver saver;
  NonfinitePolicy policy;
  std::vector<std::string> notices;  ///< for the plan
  std::optional<PlanEvent> planned;
  std::int64_t evaluated_step = RunProgress::no_step;
  bool stop_agreed = false;  ///< of several ranks
};

Trainer::Impl::Impl(ResolvedConfig config, Corpus corpus_in, const TrainerOptions& options)
    : ranks(options.ranks != nullptr ? *options.ranks : alone),
      threads(set_threads(options.threads)),
      device(choose_device(options.device)),
      corpus(std::move(corpus_in)),
      memory_bytes(checked_memory(config.config, corpus, device, threads, options)),
      clock(options.clock, options.process_started, ranks),
      length(std::move(config), corpus.train().size(), options.closing, options.settled, clock),
      stop(options.stop),
      emitter(clock, state, ranks.alone() ? stop : nullptr),  // several ranks end a step together, or not at all
      learner(settings(), corpus, device, options.engine, ranks),
      evaluator(settings(), corpus, learner, emitter),
      meter(settings(), corpus.vocabulary().size(), learner, evaluator, clock, emitter),
      folder(options.run, emitter),
      saver(folder, length.config(), corpus.vocabulary(), learner, emitter),
      policy(learner, state, folder, saver, emitter) {
  state = {{.max_iters = length.steps()}, conditions_here(learner, corpus, threads, options.program_version)};
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
  if (length.settled()) take_length();
}

void Trainer::Impl::settle_length() {
  if (length.settled()) return;
  if (const std::string line = length.settle(meter, state.step); !line.empty()) notices.push_back(line);
  take_length();
}

/// More steps than planned give the run time to improve again.
void Trainer::Impl::take_length() {
  if (length.steps() > state.max_iters) begin_patience_anew();
  state.max_iters = length.steps();
}

void Trainer::Impl::begin_patience_anew() {
  if (state.evals_without_improvement == 0) return;
  state.evals_without_improvement = 0;
  if (settings().train.patience > 0) notices.emplace_back("patience starts over");
}

PlanEvent Trainer::Impl::plan(bool measure) {
  settle_length();
  PlanEvent event = plan_of(length.config(), corpus, learner, state);
  event.run = folder.known_path().string();
  event.memory_bytes = memory_bytes;
  event.notices.insert(event.notices.begin(), notices.begin(), notices.end());
  if (measure) event.seconds = length.expected_seconds(meter, state.step);
  planned = event;
  return event;
}

void Trainer::Impl::announce() {
  folder.open();
  const PlanEvent event = planned ? *planned : plan(/*measure=*/true);
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
      if (evaluation_due()) evaluate_and_save();
    }
    if (evaluated_step != state.step && evaluates_at(*ending)) evaluate();
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
  if (policy.accepts(result)) learner.averages.follow(learner.arena);
  const double rate = learning_rate_at(settings().train, state.step);
  ++state.step;
  const double spent = clock.now() - begun;
  length.follow_step(spent);
  state.training_seconds += spent;
  state.seconds = clock.seconds();
  state.val_loss = state.averaged_val_loss = infinite;  // not evaluated here
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
  if (state.step >= state.max_iters) return Ending::finished;
  if (patience > 0 && state.evals_without_improvement >= patience) return Ending::patience;
  if (stopped()) return Ending::stopped;
  if (!length.has_time_for_step(state.step)) return Ending::seconds;
  return std::nullopt;
}

/// When time is up for steps, there may still be some for an evaluation.
bool Trainer::Impl::evaluates_at(Ending ending) const {
  return ending == Ending::finished || (ending == Ending::seconds && length.has_time_for_evaluation(state.step));
}

/// If called off on the way, it leaves nothing behind: a resumed run does it again.
void Trainer::Impl::evaluate() {
  folder.check();  // without it there is no point in going on
  const double begun = clock.now();
  EvaluationLosses losses = evaluator.evaluate();
  if (policy.takes_back(losses.val)) losses = evaluator.evaluate();
  const std::optional<SampleEvent> text = std::isfinite(losses.val) ? sample() : std::nullopt;
  record_losses(state, losses);
  evaluated_step = state.step;
  length.follow_evaluation(clock.now() - begun);
  emitter.emit(EvalEvent{.step = state.step,
                         .train_loss = losses.train,
                         .val_loss = losses.val,
                         .averaged_val_loss = losses.averaged_val,
                         .best = state.best_step == state.step,
                         .exact = evaluator.exact(),
                         .leaks = learner.model->leaks(),
                         .best_val_loss = state.step == 0 ? losses.val : state.best_val_loss,
                         .seconds = clock.seconds(),
                         .training_seconds = state.training_seconds});
  if (text) emitter.emit(*text);
}

std::optional<SampleEvent> Trainer::Impl::sample() {
  if (settings().eval.sample_tokens == 0 || !ranks.first()) return std::nullopt;
  return SampleEvent{state.step, sample_text(*learner.model, corpus.vocabulary(), state.start_symbol, settings(),
                                             emitter.heartbeat("sampling"))};
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
  emitter.work("saving", length.pace().seconds_per_save > 0.5 ? WorkEvent::no_parts : 0);
  state.seconds = clock.seconds();
  saver.save(state);
  length.follow_save(clock.now() - begun);
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
  learner.averages = AveragedWeights(learner.arena, learner.config.ema);
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
  impl_->settle_length();
  impl_->policy.before_first_step();
  return impl_->step();
}

const RunState& Trainer::state() const {
  return impl_->state;
}
Pace Trainer::pace() const {
  return impl_->length.pace();
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
LanguageModel& Trainer::model() {
  return *impl_->learner.model;
}
Engine& Trainer::engine() {
  return *impl_->learner.engine;
}
ParameterArena& Trainer::arena() {
  return impl_->learner.arena;
}

}  // namespace chargpt
