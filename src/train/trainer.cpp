#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "config/describe.h"
#include "config/load.h"
#include "engine/device.h"
#include "engine/torch_module.h"
#include "network/model_types.h"
#include "report/format.h"
#include "run/checkpoints.h"
#include "train/conditions.h"
#include "train/inherit.h"
#include "train/learner.h"
#include "train/plan.h"

namespace chargpt {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Returns the corpus after all checks that must precede large allocations.
Corpus checked(Corpus corpus, const Config& config, const std::string& engine, const std::string& device,
               std::int64_t threads) {
  check_model_config(config.model);
  check_splits(corpus, config.model.block_size);
  if (corpus.is_divided() && leaks(config.model))
    throw Error(ExitCode::usage,
                "model.causal = false sees the whole window, and with it other documents; leave it out, or "
                "data.documents and data.separator");
  const std::int64_t vocab_size = corpus.vocabulary().size();
  const RunSize run{.vocab_size = vocab_size,
                    .parameters = count_parameters(config.model, vocab_size),
                    .threads = threads,
                    .cpu_engine = chosen_engine(engine, config.train.dtype, device) == "cpu",
                    .text_bytes = device == "cpu" ? 0 : std::ssize(corpus.all().bytes()),
                    .device = device == "cpu" ? "" : device};
  const auto available = device == "cpu" ? physical_memory() : torch_module("--device " + device).device_memory(device);
  if (available) check_memory(config, run, *available);
  return corpus;
}

}  // namespace

Trainer::Trainer(ResolvedConfig config, Corpus corpus, const TrainerOptions& options)
    : ranks_(options.ranks != nullptr ? *options.ranks : alone_),
      threads_(set_threads(options.threads)),
      device_(choose_device(options.device, options.engine)),
      corpus_(checked(std::move(corpus), config.config, options.engine, device_, threads_)),
      teachers_(config, corpus_, threads_, options.teachers, caution_),
      config_(std::move(config)),
      clock_(options.clock, options.process_started, ranks_),
      schedule_(settings(), corpus_.train().size(), options.replayed_shares, state_, clock_),
      stop_(options.stop),
      last_step_(options.last_step),
      emitter_(clock_, state_, ranks_.alone() ? stop_ : nullptr),  // several ranks end a step together
      learner_(settings(), corpus_, teachers_, device_, options.engine, ranks_),
      evaluator_(settings(), corpus_, learner_, emitter_),
      saver_(config_, corpus_.vocabulary(), learner_, emitter_) {
  state_ = {{.max_iters = schedule_.steps()}, conditions_here(learner_, corpus_, threads_, options.program_version)};
  choose_windows();
  teachers_.refuse_own(options.run);
  if (!options.run.empty()) save_in(options.run);
  if (teachers_.empty()) return;
  state_.teachers = teachers_.weights();
  notices_ = teachers_.notices();
}

/// Takes over the checkpoint's progress, then resets what changed options invalidate.
void Trainer::resume_from(const Checkpoint& checkpoint) {
  const std::string source = checkpoint.path.string();
  const Config &asked = settings(), &earlier = checkpoint.config.config;
  RunProgress& progress = state_;
  progress = checkpoint.state;
  saved_as_ = std::exchange(progress.ended, Ending::unknown);
  clock_.count_on_from(progress.seconds);
  saver_.last_checkpoint = checkpoint.path;
  if (!learner_.load(checkpoint))
    notices_.push_back(source + " has no averaged weights: averaging starts from its trained ones");
  for (const std::string& line : differing_conditions(checkpoint.state, state_)) notices_.push_back(line);
  for (const std::string& line : changed_options(earlier, asked)) notices_.push_back("changed: " + line);
  if (asked.train.patience != earlier.train.patience) begin_patience_anew();
  if (schedule_.by_clock() ? asked.train.max_seconds > earlier.train.max_seconds : schedule_.steps() > state_.max_iters)
    begin_patience_anew();  // more steps may improve the loss again
  state_.max_iters = schedule_.steps();
  state_.val_windows = std::min(state_.val_windows, evaluator_.all_windows());
  if (const std::int64_t before = state_.val_windows; before == 0 || asked.eval.eval_iters != earlier.eval.eval_iters) {
    choose_windows();
    if (before > 0 && state_.val_windows != before) {  // losses on other windows do not compare
      state_.best_val_loss = infinite;
      state_.best_step = RunProgress::no_step;
      begin_patience_anew();
    }
  }
  schedule_.resume();
}

/// A run keeps its number of windows, because best and patience compare losses of the same windows.
void Trainer::choose_windows() {
  state_.val_windows =
      std::min(evaluator_.all_windows(),
               windows_to_score(settings(), corpus_.val().size(), evaluation_interval(settings(), schedule_.steps())));
}

/// The step-0 evaluation scores few windows, because nothing compares with it, unless the run inherited weights.
std::int64_t Trainer::windows_now() const {
  constexpr std::int64_t few = 8192;  // tokens
  if (state_.step > 0 || inherited_) return state_.val_windows;
  return std::clamp<std::int64_t>(few / settings().model.block_size, 1, state_.val_windows);
}

void Trainer::begin_patience_anew() {
  if (state_.evals_without_improvement == 0) return;
  state_.evals_without_improvement = 0;
  if (settings().train.patience > 0) notices_.emplace_back("patience starts over");
}

/// Seconds to score one window: times the second forward pass, because the first warms up.
double Trainer::seconds_per_window() {
  evaluator_.score_some();
  const double begun = clock_.now();
  const std::int64_t windows = evaluator_.score_some();
  return (clock_.now() - begun) / static_cast<double>(windows);
}

/// Steps that fit into max_seconds, estimated from a few forward passes.
std::int64_t Trainer::estimated_steps() {
  if (schedule_.replays() > 0) return schedule_.replays();
  const TrainConfig& train = settings().train;
  const double per_window = clock_.agreed(seconds_per_window()), left = clock_.agreed(schedule_.seconds_left());
  const double evaluations = evaluations_of_run * (1 - static_cast<double>(schedule_.share())),
               of_evaluation = per_window * static_cast<double>(evaluator_.windows_scored(state_.val_windows)),
               of_step = passes_of_step * per_window *
                         static_cast<double>(train.batch_size * train.gradient_accumulation_steps);
  const double steps = std::max(1.0, (left - evaluations * of_evaluation) / of_step);
  const std::int64_t most = state_.max_iters, planned = state_.step + static_cast<std::int64_t>(std::min(steps, 1e12));
  return most > 0 ? std::min(most, planned) : planned;
}

/// Estimated seconds for all steps of a new run, evaluations included; nullopt if it has none. The first step warms up,
/// so it is not counted. Throws Interrupted if a stop was requested.
std::optional<double> Trainer::measured_seconds(std::int64_t to_come) {
  if (to_come <= 0) return std::nullopt;
  constexpr double enough = 0.3;
  const std::int64_t interval = settings().eval.eval_interval;
  const auto evaluations =
      static_cast<double>(2 + (interval > 0 ? to_come / interval : std::min(to_come, evaluations_of_run)));
  double spent = 0, timed = 1;
  for (std::int64_t made = 0; made < to_come && spent < enough; ++made) {
    if (made == 1) spent = 0;
    const double begun = clock_.now();
    learner_.make_step(made, /*lr_factor=*/0, emitter_.heartbeat("measuring"));
    learner_.engine->synchronize();
    spent += clock_.agreed(clock_.now() - begun);
    timed = std::max(1.0, static_cast<double>(made));
  }
  return static_cast<double>(to_come) * spent / timed +
         evaluations * seconds_per_window() * static_cast<double>(evaluator_.windows_scored(state_.val_windows));
}

PlanEvent Trainer::plan(bool measure) {
  const bool by_clock = schedule_.by_clock();
  PlanEvent event = plan_of(settings(), corpus_, learner_, state_, by_clock ? estimated_steps() : state_.max_iters);
  event.run = saver_.run().string();
  event.notices.insert(event.notices.begin(), notices_.begin(), notices_.end());
  if (measure) {
    event.seconds = measured_seconds(event.max_iters);
    event.memory_bytes = peak_memory();
  }
  if (by_clock) {
    const double left = std::max(0.0, settings().train.max_seconds - clock_.seconds());
    event.seconds = event.by_clock ? left : std::min(left, event.seconds.value_or(left));
  }
  return event;
}

/// Checks that all ranks have loaded the same weights, step and teachers.
void Trainer::check_same_start() {
  std::uint64_t sum =
      crc64(std::as_bytes(learner_.current().values.all()), crc64(std::as_bytes(std::span(&state_.step, 1))));
  for (const TeacherWeights& teacher : state_.teachers) sum = crc64(std::as_bytes(std::span(&teacher.crc64, 1)), sum);
  const std::vector<std::uint64_t> sums = gathered(ranks_, sum);
  const auto other = std::ranges::find_if(sums, [&](std::uint64_t one) { return one != sums.front(); });
  if (other != sums.end())
    throw Error(
        ExitCode::data, "rank ", other - sums.begin(),
        " starts from another step or other weights than rank 0, or has other teachers; give all the same files");
}

/// Interrupted work is dropped, and the run is saved without it.
Ending Trainer::run() {
  if (!ranks_.alone()) check_same_start();
  std::optional<Ending> ending;
  try {
    const PlanEvent event = plan(/*measure=*/false);
    emitter_.emit(event);
    for (const std::string& line : event.notices) emitter_.notice(line);
    saved_at_ = clock_.seconds();
    if (schedule_.evaluation_due() && !evaluated()) evaluate_and_save();
    schedule_.look();
    while (!(ending = reason_to_end())) {
      make_step();
      schedule_.evaluation_due() ? evaluate_and_save() : save_on_the_way();
    }
    if (!evaluated() && *ending != Ending::stopped) evaluate();
  } catch (const Interrupted&) {  // in the plan of a run that has ended, too
    ending = evaluated() ? reason_to_end().value_or(Ending::stopped) : Ending::stopped;
  }
  state_.ended = *ending;
  // A stop is no reason to write a state again that is saved whole.
  const bool saved = saved_as_ && (*ending == Ending::stopped || saved_as_ == ending);
  if (clock_.agreed(!saved)) save();
  emitter_.emit(ended());
  return state_.ended;
}

StepEvent Trainer::make_step() {
  schedule_.begin_updates();
  const double begun = clock_.now(), rate = schedule_.learning_rate();
  const Gradients gradients =
      learner_.make_step(state_.step, schedule_.learning_rate_factor(), emitter_.heartbeat("updating"));
  if (const std::string line = learner_.engine->take_notice(); !line.empty()) emitter_.notice(line);
  const std::vector<char> stops = gathered<char>(ranks_, stop_ != nullptr && stop_->load());
  stop_agreed_ = std::ranges::count(stops, 1) > 0;  // on any rank
  if (!gradients.finite()) {
    learner_.engine->give_gradients();
    diverge(line_of("step ", state_.step + 1, " has loss ", std::abs(gradients.loss), " and gradient norm ",
                    std::abs(gradients.norm), " (", diagnosis(learner_.batches.starts(state_.step), learner_.arena),
                    ")"));
  }
  learner_.follow_averages();
  ++state_.step;
  const double spent = clock_.now() - begun;
  state_.training_seconds += spent;
  state_.seconds = clock_.seconds();
  state_.val_loss = state_.averaged_val_loss = infinite;  // this step is not evaluated
  saved_as_.reset();
  schedule_.follow_update(spent);
  schedule_.look();
  const StepEvent event{.step = state_.step,
                        .max_iters = state_.max_iters,
                        .share = schedule_.share(),
                        .loss = gradients.loss,
                        .lr = rate,
                        .grad_norm = gradients.norm,
                        .tokens_per_second = static_cast<double>(tokens_per_step(settings())) / spent,
                        .seconds = state_.seconds};
  emitter_.emit(event);
  return event;
}

std::optional<Ending> Trainer::reason_to_end() const {
  const std::int64_t patience = settings().train.patience;
  const bool all_steps = state_.step >= state_.max_iters && (state_.max_iters > 0 || !schedule_.by_clock());
  if (all_steps || schedule_.over()) return all_steps ? Ending::finished : Ending::seconds;
  if (patience > 0 && state_.evals_without_improvement >= patience) return Ending::patience;
  if (stopped() || state_.step >= last_step_) return Ending::stopped;
  return std::nullopt;
}

/// Evaluates and records the losses. An interruption leaves nothing behind, so a resumed run repeats it.
void Trainer::evaluate() {
  saver_.check();  // no point in continuing without it
  const std::int64_t windows = windows_now();
  const EvaluationLosses losses = evaluator_.evaluate(windows);
  state_.exact = windows == evaluator_.all_windows();
  if (!std::isfinite(losses.val))
    diverge(line_of("the validation loss after ", format_count(state_.step, "step"), " is ", std::abs(losses.val)));
  std::optional<SampleEvent> text;
  if (settings().eval.sample_tokens > 0 && ranks_.first())
    text = {state_.step, evaluator_.sample_text(state_.start_symbol)};
  record_losses(state_, losses, inherited_ ? infinite : std::log(static_cast<double>(corpus_.vocabulary().size())));
  if (inherited_ && state_.step == 0)
    state_.best_val_loss = std::min(losses.val, losses.averaged_val.value_or(infinite));
  if (state_.best_step == state_.step && device_ == "cpu") best_losses_ = losses.of_tokens;
  train_loss_ = losses.train;
  saved_as_.reset();
  emitter_.emit(EvalEvent{.step = state_.step,
                          .train_loss = losses.train,
                          .val_loss = losses.val,
                          .averaged_val_loss = losses.averaged_val,
                          .best = state_.best_step == state_.step,
                          .exact = state_.exact,
                          .leaks = leaks(learner_.model),
                          .best_val_loss = best_loss(state_),
                          .seconds = clock_.seconds(),
                          .training_seconds = state_.training_seconds});
  if (text) emitter_.emit(*text);
}

/// Evaluates, and saves unless this is step 0: its loss is that of guessing (near ln V), not worth a checkpoint.
void Trainer::evaluate_and_save() {
  const double begun = clock_.now();
  evaluate();
  const double all = static_cast<double>(state_.val_windows),
               evaluating = clock_.agreed(clock_.now() - begun) *
                            (state_.step > 0 ? 1 : all / static_cast<double>(windows_now()));
  state_.closing_seconds = evaluating + saving_seconds_;
  schedule_.look();
  state_.ended = reason_to_end().value_or(Ending::unknown);
  if (state_.step == 0) return;
  save_on_the_way(/*soonest=*/0);
  state_.closing_seconds = evaluating + saving_seconds_;
}

/// Saves unless the last save was less than `soonest` seconds ago. After a failure, the next save tries again.
void Trainer::save_on_the_way(double soonest) {
  if (soonest > 0 && !clock_.agreed(clock_.seconds() >= saved_at_ + soonest)) return;
  try {
    save();
  } catch (const Error& failure) {
    if (failure.code() != ExitCode::io) throw;
    best_losses_.clear();  // their checkpoint is missing
    emitter_.notice(line_of(failure.what(), "; training goes on"));
  }
  schedule_.look();
}

void Trainer::save() {
  if (!learner_.current().is_finite())
    diverge(line_of("after ", format_count(state_.step, "step"), " some weights are not finite"));
  const double begun = clock_.now();
  emitter_.work("saving", saving_seconds_ > 0.5 ? WorkEvent::no_parts : 0);
  state_.seconds = saved_at_ = clock_.seconds();
  std::exception_ptr failure;
  try {
    saver_.save(state_);
    saved_as_ = state_.ended;
  } catch (const Error&) {
    failure = std::current_exception();
  }
  saving_seconds_ = clock_.agreed(clock_.now() - begun);  // rank 0 saves and tells the others
  if (failure) std::rethrow_exception(failure);
}

/// Ends the run with Error diverged. Losses and norms in `what` are positive: the sign of a NaN means nothing.
void Trainer::diverge(const std::string& what) {
  state_.ended = Ending::diverged;
  emitter_.emit(ended());
  const std::filesystem::path& last = saver_.last_checkpoint;
  const TrainConfig& train = settings().train;
  throw Error(ExitCode::diverged, "training diverged; lower train.learning_rate = ", train.learning_rate,
              train.grad_clip > 0 ? "" : ", or set train.grad_clip = 1", ": ", what, "; ",
              last.empty() ? "no checkpoint had been saved yet" : "the last good checkpoint is " + last.string());
}

EndEvent Trainer::ended() const {
  return {.ended = state_.ended,
          .step = state_.step,
          .max_iters = state_.max_iters,
          .max_seconds = settings().train.max_seconds,
          .seconds = state_.seconds};  // of the last save, where a resumed run continues
}

void Trainer::init_from(const Checkpoint& checkpoint) {
  notices_.push_back(inherit_weights(learner_.arena, settings(), corpus_.vocabulary(), checkpoint));
  if (const std::string line = foreign_text(checkpoint, settings(), corpus_); !line.empty())
    notices_.push_back(caution_ = "the run that the weights come from " + line);
  inherited_ = true;
  learner_.start_from_weights();
}

StepEvent Trainer::step() {
  schedule_.look();
  return make_step();
}

}  // namespace chargpt
