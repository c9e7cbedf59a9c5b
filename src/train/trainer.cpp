#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "compute/averages.h"
#include "compute/device.h"
#include "compute/memory.h"
#include "evaluate/split_loss.h"
#include "generate/generate.h"
#include "model/registry.h"
#include "train/conditions.h"
#include "train/diagnosis.h"
#include "train/footprint.h"
#include "train/inherit.h"
#include "train/length.h"
#include "train/loss_trend.h"
#include "train/schedule.h"

namespace chargpt {
namespace {

constexpr int most_skips_in_a_row = 100;
constexpr int most_rollbacks_in_a_row = 10;       ///< from one checkpoint
constexpr double plan_seconds = 0.3;              ///< spent on measuring for a plan's estimate
constexpr double part_spent_on_measuring = 0.05;  ///< of max_seconds
constexpr double most_seconds_of_measuring = 3;
constexpr std::int64_t most_steps_of_measuring = 1'000'000;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class... Parts>
std::string line_of(const Parts&... parts) {
  std::ostringstream line;
  (line << ... << parts);
  return line.str();
}

/// What a sample without a prompt starts from: a newline, or the most frequent symbol of the train split's first ten
/// million tokens.
std::int64_t start_symbol(const Corpus& corpus) {
  const std::int64_t newline = corpus.vocabulary().id_of(U'\n');
  if (newline >= 0) return newline;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(corpus.vocabulary().size()));
  const std::int64_t counted = std::min<std::int64_t>(corpus.train().size(), 10'000'000);
  for (std::int64_t i = 0; i < counted; ++i) ++counts[static_cast<std::size_t>(corpus.train()[i])];
  return std::max_element(counts.begin(), counts.end()) - counts.begin();
}

/// What a rollback returns to.
struct GoodMoment {
  std::int64_t step = 0;
  ArenaSnapshot arena{};
  LossTrend trend;
  std::filesystem::path checkpoint{};  ///< where it is instead of in memory: of a run that was resumed after it
  std::optional<AveragedWeights> averages{};
};

/// Windows of an exact evaluation of a split, the last one short.
std::int64_t windows_of(TokenView split, std::int64_t block_size) {
  return (split.size() - 1 + block_size - 1) / block_size;
}

/// What can be refused before anything large is made. Returns its argument, so that it can stand first among the
/// members' initialisers.
ResolvedConfig checked(ResolvedConfig config, const Corpus& corpus, const torch::Device& device) {
  check_model_config(config.config.model);
  check_splits(corpus, config.config.model.block_size);
  const std::int64_t vocab_size = corpus.vocabulary().size();
  const std::int64_t estimate =
      memory_estimate(config.config, vocab_size, count_parameters(config.config.model, vocab_size));
  if (device.is_cpu()) check_memory(config.config, estimate, physical_memory());
  return config;
}

std::shared_ptr<LanguageModel> model_on(const torch::Device& device, const Config& config, std::int64_t vocab_size) {
  auto model = make_model(config.model, vocab_size, static_cast<std::uint64_t>(config.train.seed));
  model->to(device);
  return model;
}

}  // namespace

struct Trainer::Impl {
  Impl(ResolvedConfig config_in, Corpus corpus_in, TrainerOptions options_in);

  // Before the first step.
  RunState conditions() const;
  void check_same_text(const Checkpoint& checkpoint) const;
  void resume_from(const Checkpoint& checkpoint);
  void settle_length();
  std::int64_t iterations_by_seconds();
  PlanEvent plan(bool measure);
  Pace measure(double budget, std::int64_t most_steps);
  void announce();

  // One step and what follows it.
  StepEvent step();
  void judge(const StepResult& result);
  std::string diagnosed(const StepResult& result) const;
  void count_skip(const StepResult& result);
  bool rolls_back() const { return settings().train.on_nonfinite == OnNonfinite::rollback; }
  void keep_good_moment();
  std::optional<GoodMoment> good_moment_before(const Checkpoint& checkpoint);
  bool load_weights_and_moments(const Checkpoint& checkpoint);
  void return_to(const GoodMoment& moment);
  void roll_back(const std::string& what);
  void evaluate();
  double validation_loss();
  std::optional<double> averaged_loss();
  void note_losses(double val_loss, std::optional<double> averaged);
  void sample();
  void save();
  void save_or_notice();
  bool evaluation_due() const { return state.step % settings().eval.eval_interval == 0; }
  std::optional<Ending> reason_to_end() const;

  const Config& settings() const { return config.config; }
  double learning_rate() const { return learning_rate_at(settings().train, state.step); }
  double seconds() const { return seconds_before + now() - started; }
  std::int64_t windows_scored_of_val() const;
  std::int64_t windows_scored_of_train() const;
  StepResult engine_step(std::int64_t step);
  [[noreturn]] void diverged(const std::string& what) const;

  template <class Event>
  void emit(const Event& event) {
    for (const auto& listener : listeners) listener->on(event);
  }
  void notice(const std::string& line) { emit(NoticeEvent{line}); }

  TrainerOptions options;
  std::int64_t threads;
  torch::Device device;
  Corpus corpus;
  ResolvedConfig given;   ///< as asked for
  ResolvedConfig config;  ///< with the length settled
  std::shared_ptr<LanguageModel> model;
  ParameterArena arena;
  AveragedWeights averages;  ///< none where train.ema = 0
  std::unique_ptr<Engine> engine;
  BatchSource batches;

  RunState state;
  std::vector<std::shared_ptr<Listener>> listeners;
  std::vector<std::string> waiting_notices;  ///< of resuming, until there are listeners
  std::optional<PlanEvent> planned;
  std::vector<std::string> limits;  ///< of the length, as long as they have not settled it
  double started;
  double seconds_before = 0;  ///< of the processes before this one
  std::int64_t evaluated_step = -1, saved_step = -1;
  std::filesystem::path last_checkpoint;
  std::optional<GoodMoment> good;  ///< where train.on_nonfinite = rollback
  bool just_rolled_back = false;   ///< and no good update since
};

Trainer::Impl::Impl(ResolvedConfig config_in, Corpus corpus_in, TrainerOptions options_in)
    : options(std::move(options_in)),
      threads(set_threads(options.threads)),
      device(choose_device(options.device)),
      corpus(std::move(corpus_in)),
      given(checked(std::move(config_in), corpus, device)),
      config(given),
      model(model_on(device, settings(), corpus.vocabulary().size())),
      arena(*model, settings().train),
      averages(arena, settings().train.ema),
      engine(make_engine(options.engine, *model, arena, settings().train)),
      batches(corpus.train(), settings().model.block_size, settings().train.batch_size,
              settings().train.gradient_accumulation_steps, settings().train.windows,
              static_cast<std::uint64_t>(settings().train.seed)),
      state(conditions()),
      limits(length_limits(given)),
      started(options.process_started > 0 ? options.process_started : now()) {
  if (!needs_pace(limits)) settle_length();
}

/// A new run's state: nothing done, under the conditions of this process.
RunState Trainer::Impl::conditions() const {
  RunState fresh;
  fresh.max_iters = settings().train.max_iters;
  fresh.data = corpus.fingerprint();
  fresh.parameters = arena.numel();
  fresh.start_symbol = start_symbol(corpus);
  fresh.program_version = options.program_version;
  fresh.libtorch_version = libtorch_version();
  fresh.cpu_capability = cpu_capability();
  fresh.device = device_name(device);
  fresh.engine = engine->name();
  fresh.threads = threads;
  return fresh;
}

void Trainer::Impl::check_same_text(const Checkpoint& checkpoint) const {
  if (checkpoint.vocabulary == corpus.vocabulary() && checkpoint.state.data == corpus.fingerprint()) return;
  const std::int64_t then = checkpoint.state.data.tokens, here = corpus.fingerprint().tokens;
  const std::string how =
      then == here ? "as long, but other characters" : line_of(then, " tokens then, ", here, " now");
  const std::string source = checkpoint.path.string();
  throw Error(ExitCode::data, line_of("the text is not the one that ", source, " was trained on (", how,
                                      "); resume with that text, or start a new run with --init_from ", source));
}

void Trainer::Impl::resume_from(const Checkpoint& checkpoint) {
  const std::string source = checkpoint.path.string();
  check_same_text(checkpoint);
  if (!checkpoint.optimizer) throw Error(ExitCode::internal, source + " was loaded without its optimizer");
  good = good_moment_before(checkpoint);
  if (!load_weights_and_moments(checkpoint))
    waiting_notices.push_back(source + " has no averaged weights: averaging begins with its trained ones");

  const RunState here = conditions();
  for (const std::string& line : differing_conditions(checkpoint.state, here)) waiting_notices.push_back(line);
  for (const std::string& line : changed_options(checkpoint.config.config, given.config))
    waiting_notices.push_back("changed: " + line);
  state = here;
  state.step = checkpoint.state.step;
  state.val_loss = checkpoint.state.val_loss;
  state.averaged_val_loss = checkpoint.state.averaged_val_loss;
  state.best_val_loss = checkpoint.state.best_val_loss;
  state.best_step = checkpoint.state.best_step;
  state.evals_without_improvement = checkpoint.state.evals_without_improvement;
  state.training_seconds = checkpoint.state.training_seconds;
  state.trend = checkpoint.state.trend;
  state.rollbacks = checkpoint.state.rollbacks;
  if (good) state.rollback_step = good->step;
  if (rolls_back()) state.rollbacks_in_a_row = checkpoint.state.rollbacks_in_a_row;
  just_rolled_back = state.rollbacks_in_a_row > 0;
  if (given.config.train.on_nonfinite == OnNonfinite::skip) state.skips_in_a_row = checkpoint.state.skips_in_a_row;
  seconds_before = checkpoint.state.seconds;
  evaluated_step = std::isfinite(state.val_loss) ? state.step : -1;
  saved_step = state.step;
  last_checkpoint = checkpoint.path;
  config = given;
  limits = keeps_length(given.config.train, checkpoint.config.config.train) ? std::vector<std::string>{}
                                                                            : length_limits(given);
  if (!needs_pace(limits)) settle_length();
}

void Trainer::Impl::settle_length() {
  for (const std::string& option : limits) {
    if (option == "train.max_iters") continue;
    const bool first = option == limits.front();
    const std::int64_t iterations = option == "train.max_epochs"
                                        ? iterations_of_epochs(settings(), corpus.train().size())
                                        : iterations_by_seconds();
    if (first || iterations < settings().train.max_iters) settle_iterations(config, option, iterations);
  }
  limits.clear();
  state.max_iters = settings().train.max_iters;
}

std::optional<Ending> Trainer::Impl::reason_to_end() const {
  const std::int64_t patience = settings().train.patience;
  if (state.step >= state.max_iters) return Ending::finished;
  if (patience > 0 && state.evals_without_improvement >= patience) return Ending::patience;
  if (options.stop && options.stop->load()) return Ending::stopped;
  return std::nullopt;
}

/// What measuring and earlier processes have used of max_seconds is gone.
std::int64_t Trainer::Impl::iterations_by_seconds() {
  const double begun = now();
  const double asked = settings().train.max_seconds;
  const Pace pace =
      measure(std::min(most_seconds_of_measuring, part_spent_on_measuring * asked), most_steps_of_measuring);
  const double left = asked - seconds_before - (now() - begun);
  return state.step + (left > 0 ? iterations_of_seconds(left, pace, settings().eval.eval_interval) : 0);
}

/// Runs steps for about `budget` seconds, no more than `most_steps`, after one that warms up, and puts weights and
/// moments back as they were.
Pace Trainer::Impl::measure(double budget, std::int64_t most_steps) {
  const ArenaSnapshot before = arena.snapshot();
  engine_step(state.step);
  synchronize(device);
  const double begun = now();
  std::int64_t steps = 0;
  do {
    engine_step(state.step + ++steps);
    synchronize(device);
  } while (now() - begun < budget && steps < most_steps);
  Pace pace{.seconds_per_step = (now() - begun) / static_cast<double>(steps)};
  arena.restore(before);

  const Batch batch = batches.at(0).front();
  engine->losses(batch);
  const double evaluation_begun = now();
  engine->losses(batch);
  const double windows = static_cast<double>(windows_scored_of_val() + windows_scored_of_train());
  pace.seconds_per_evaluation = (now() - evaluation_begun) * windows / static_cast<double>(settings().train.batch_size);
  return pace;
}

PlanEvent Trainer::Impl::plan(bool measure_pace) {
  settle_length();
  const Config& c = settings();
  PlanEvent event;
  event.config = c.name;
  event.run = options.run.string();
  event.device = state.device;
  event.engine = state.engine;
  event.dtype = enum_name(c.train.dtype);
  event.model_type = c.model.type;
  event.threads = threads;
  event.parameters = state.parameters;
  event.vocab_size = corpus.vocabulary().size();
  event.train_tokens = corpus.train().size();
  event.val_tokens = corpus.val().size();
  event.tokens_per_step = tokens_per_step(c);
  event.max_iters = state.max_iters;
  event.start_step = state.step;
  event.length_set_by = length_set_by(config);
  event.longer_limits = length_limits(config);
  std::erase(event.longer_limits, event.length_set_by);
  event.epochs = static_cast<double>(state.max_iters) * static_cast<double>(event.tokens_per_step) /
                 static_cast<double>(event.train_tokens);
  event.memory_bytes = memory_estimate(c, event.vocab_size, event.parameters);
  event.disk_bytes = disk_estimate(c, event.vocab_size, event.parameters);
  event.leaks = model->leaks();
  const std::int64_t left = state.max_iters - state.step;
  if (measure_pace && left > 0)
    event.seconds = seconds_of_iterations(left, measure(plan_seconds, left), c.eval.eval_interval);
  planned = event;
  return event;
}

/// The plan and all that a user should know before the first step.
void Trainer::Impl::announce() {
  emit(planned ? *planned : plan(true));
  for (const std::string& line : waiting_notices) notice(line);
  if (const std::string line = engine->notice(); !line.empty()) notice(line);
  for (const std::string& line : schedule_warnings(settings().train)) notice(line);
  if (threads > physical_cores())
    notice(
        line_of(threads, " threads on ", physical_cores(), " physical cores: more threads than cores make it slower"));
  if (device.is_cpu() && settings().train.dtype == Dtype::tf32)
    notice("train.dtype = tf32 is for CUDA; on the CPU it is float32");
  if (device.is_cpu() && settings().train.dtype == Dtype::bfloat16 && !cpu_has_bfloat16())
    notice("this CPU has no bfloat16 instructions: train.dtype = bfloat16 is emulated, slower than float32");
  if (model->leaks()) notice("this model sees the symbols it has to predict: its loss is no measure of anything");
}

StepResult Trainer::Impl::engine_step(std::int64_t step) {
  const std::vector<Batch> micro_batches = batches.at(step);
  const double peak = settings().train.learning_rate;
  return engine->step({.step = step,
                       .lr_factor = peak > 0 ? learning_rate_at(settings().train, step) / peak : 0,
                       .seed = static_cast<std::uint64_t>(settings().train.seed),
                       .micro_batches = micro_batches});
}

StepEvent Trainer::Impl::step() {
  settle_length();
  if (rolls_back() && !good) keep_good_moment();
  const double begun = now();
  const StepResult result = engine_step(state.step);
  judge(result);
  const double rate = learning_rate();
  ++state.step;
  const double spent = now() - begun;
  state.training_seconds += spent;
  state.val_loss = state.averaged_val_loss = std::numeric_limits<double>::infinity();
  state.seconds = seconds();
  const StepEvent event{.step = state.step,
                        .max_iters = state.max_iters,
                        .loss = result.loss,
                        .lr = rate,
                        .grad_norm = result.grad_norm,
                        .tokens_per_second = static_cast<double>(tokens_per_step(settings())) / spent,
                        .seconds = state.seconds};
  emit(event);
  return event;
}

/// Follows the loss; an update that went wrong is undone, skipped, the end, or a notice, as train.on_nonfinite says.
void Trainer::Impl::judge(const StepResult& result) {
  const bool spike = result.loss > spike_threshold(state.trend);
  if (result.updated && !(spike && rolls_back())) {
    if (spike) notice("loss spike: " + diagnosed(result));
    state.trend = followed_by(state.trend, result.loss);
    averages.follow(arena);
    state.skips_in_a_row = 0;
    just_rolled_back = false;
  } else if (rolls_back()) {
    roll_back(diagnosed(result));
  } else {
    count_skip(result);
  }
}

/// No figure here is negative, but for the sign of a NaN, which says nothing.
std::string Trainer::Impl::diagnosed(const StepResult& result) const {
  const std::string before = state.trend.count > 0 ? line_of(" after a mean of ", state.trend.mean) : "";
  return line_of("update ", state.step + 1, " has loss ", std::abs(result.loss), before, " and gradient norm ",
                 std::abs(result.grad_norm), " (", diagnosis(batches.starts(state.step), arena), ")");
}

/// From here on a rollback returns to this moment, which is finite. A checkpoint of it lets a resumed run do the same.
void Trainer::Impl::keep_good_moment() {
  if (!rolls_back()) return;
  if (!arena.is_finite()) roll_back(line_of("after ", state.step, " updates there are weights that are not finite"));
  good = GoodMoment{.step = state.step, .arena = arena.snapshot(), .trend = state.trend, .averages = averages.copy()};
  state.rollback_step = state.step;
  if (!just_rolled_back) state.rollbacks_in_a_row = 0;
}

/// What an uninterrupted run would return to, where that is not the checkpoint itself.
std::optional<GoodMoment> Trainer::Impl::good_moment_before(const Checkpoint& checkpoint) {
  const std::int64_t step = checkpoint.state.rollback_step;
  if (given.config.train.on_nonfinite != OnNonfinite::rollback) return std::nullopt;
  if (step == RunState::no_step || step == checkpoint.state.step) return std::nullopt;
  try {
    std::vector<std::string> ignored;
    const Checkpoint kept =
        load_checkpoint(checkpoint.path.parent_path().parent_path(), line_of("step-", step), true, ignored);
    return GoodMoment{.step = step, .trend = kept.state.trend, .checkpoint = kept.path};
  } catch (const Error& failure) {
    waiting_notices.push_back(line_of("not bit-exact from the next rollback on, which will return to step ",
                                      checkpoint.state.step, ": ", failure.what()));
    return std::nullopt;
  }
}

/// False where averages are kept and the checkpoint has none.
bool Trainer::Impl::load_weights_and_moments(const Checkpoint& checkpoint) {
  arena.load_model(*checkpoint.model, (checkpoint.path / "model.safetensors").string());
  arena.load_optimizer(*checkpoint.optimizer, (checkpoint.path / "optimizer.safetensors").string());
  return averages.load(arena, checkpoint);
}

void Trainer::Impl::return_to(const GoodMoment& moment) {
  if (moment.checkpoint.empty()) {
    arena.restore(moment.arena);
    averages = moment.averages->copy();
    return;
  }
  std::vector<std::string> ignored;
  load_weights_and_moments(load_checkpoint(moment.checkpoint, "last", /*with_optimizer=*/true, ignored));
}

/// The step goes on: its windows and those before it back to the good moment are not drawn again.
void Trainer::Impl::roll_back(const std::string& what) {
  if (!good) diverged(what);
  if (++state.rollbacks_in_a_row >= most_rollbacks_in_a_row)
    diverged(line_of(what, ", the ", state.rollbacks_in_a_row, "th time in a row since step ", good->step));
  ++state.rollbacks;
  just_rolled_back = true;
  return_to(*good);
  state.trend = good->trend;
  notice(line_of(what, ": back to weights and moments of step ", good->step));
}

void Trainer::Impl::count_skip(const StepResult& result) {
  const std::string what = state.skips_in_a_row == 0 || settings().train.on_nonfinite == OnNonfinite::stop
                               ? diagnosed(result)
                               : line_of("update ", state.step + 1, " too has loss ", std::abs(result.loss),
                                         " and gradient norm ", std::abs(result.grad_norm));
  if (settings().train.on_nonfinite == OnNonfinite::stop) diverged(what);
  if (++state.skips_in_a_row >= most_skips_in_a_row)
    diverged(line_of(what, ", the ", state.skips_in_a_row, "th skipped in a row"));
  notice(what + ": skipped");
}

void Trainer::Impl::diverged(const std::string& what) const {
  const TrainConfig& train = settings().train;
  const std::string kept = last_checkpoint.empty() ? "no checkpoint had been saved yet"
                                                   : "the last good checkpoint is " + last_checkpoint.string();
  const std::string clip = train.grad_clip > 0 ? "" : ", or set train.grad_clip = 1";
  throw Error(ExitCode::diverged, line_of("training diverged: ", what, "; ", kept,
                                          "; lower train.learning_rate = ", train.learning_rate, clip));
}

/// eval_iters batches, or all; never more than there are.
std::int64_t Trainer::Impl::windows_scored_of_val() const {
  const std::int64_t all = windows_of(corpus.val(), settings().model.block_size);
  const std::int64_t asked = settings().eval.eval_iters * settings().train.batch_size;
  return asked > 0 ? std::min(all, asked) : all;
}

/// Spread evenly over the split; a quarter of what validation's exact loss takes is enough to see overfitting.
std::int64_t Trainer::Impl::windows_scored_of_train() const {
  const std::int64_t of_val = windows_scored_of_val();
  const std::int64_t wanted = settings().eval.eval_iters > 0 ? of_val : std::max<std::int64_t>(1, of_val / 4);
  return std::min(windows_of(corpus.train(), settings().model.block_size), wanted);
}

double Trainer::Impl::validation_loss() {
  const std::int64_t block_size = settings().model.block_size;
  const std::int64_t windows = windows_scored_of_val();
  if (windows == windows_of(corpus.val(), block_size)) return split_loss(*engine, corpus.val(), block_size).mean;
  return sampled_loss(*engine, corpus.val(), block_size, windows);
}

std::optional<double> Trainer::Impl::averaged_loss() {
  if (!averages.any()) return std::nullopt;
  const AveragedWeights::InUse in_use(averages, arena);
  return validation_loss();
}

/// The better of the two decides. A loss before the first update is shown but is nobody's best: there is no checkpoint
/// of it.
void Trainer::Impl::note_losses(double val_loss, std::optional<double> averaged) {
  state.val_loss = val_loss;
  state.averaged_val_loss = averaged.value_or(std::numeric_limits<double>::infinity());
  const double better = std::min(val_loss, state.averaged_val_loss);
  evaluated_step = state.step;
  if (state.step == 0) return;
  if (better < state.best_val_loss) {
    state.best_val_loss = better;
    state.best_step = state.step;
    state.evals_without_improvement = 0;
  } else {
    ++state.evals_without_improvement;
  }
}

void Trainer::Impl::evaluate() {
  const std::int64_t block_size = settings().model.block_size;
  double val_loss = validation_loss();
  if (!std::isfinite(val_loss) && rolls_back()) {
    roll_back(line_of("the validation loss after ", state.step, " updates is ", std::abs(val_loss)));
    val_loss = validation_loss();
  }
  const double train_loss = sampled_loss(*engine, corpus.train(), block_size, windows_scored_of_train());
  const bool stops = settings().train.on_nonfinite == OnNonfinite::stop;
  if (!std::isfinite(val_loss) && stops)
    diverged(line_of("the validation loss after ", state.step, " updates is ", std::abs(val_loss)));
  const std::optional<double> averaged = averaged_loss();
  note_losses(val_loss, averaged);
  emit(EvalEvent{.step = state.step,
                 .train_loss = train_loss,
                 .val_loss = val_loss,
                 .averaged_val_loss = averaged,
                 .best = state.best_step == state.step,
                 .exact = windows_scored_of_val() == windows_of(corpus.val(), block_size),
                 .leaks = model->leaks(),
                 .best_val_loss = state.step == 0 ? val_loss : state.best_val_loss,
                 .seconds = seconds(),
                 .training_seconds = state.training_seconds});
  sample();
}

void Trainer::Impl::sample() {
  SampleConfig sampling = settings().sample;
  sampling.tokens = settings().eval.sample_tokens;
  sampling.num_samples = 1;
  if (sampling.tokens == 0 || !std::isfinite(state.val_loss)) return;
  std::vector<std::int64_t> ids;
  generate(*model, {state.start_symbol}, sampling, static_cast<std::uint64_t>(settings().train.seed),
           [&ids](std::int64_t, std::int64_t id) {
             ids.push_back(id);
             return true;
           });
  emit(SampleEvent{state.step, corpus.vocabulary().decode(ids)});
}

void Trainer::Impl::save() {
  if (!arena.is_finite()) diverged(line_of("after ", state.step, " updates there are weights that are not finite"));
  state.seconds = seconds();
  if (!options.run.empty()) {
    std::vector<torch::Tensor> storage;
    const std::vector<TensorView> weights = arena.model_tensors(storage), moments = arena.optimizer_tensors(storage),
                                  averaged = averages.tensors(arena, storage);
    const bool best = state.best_step == state.step;
    last_checkpoint = save_checkpoint(options.run, {state, corpus.vocabulary(), config, weights, moments, averaged},
                                      best, settings().train.keep);
    emit(CheckpointEvent{state.step, last_checkpoint, best});
  }
  saved_step = state.step;
}

void Trainer::Impl::save_or_notice() {
  try {
    save();
  } catch (const Error& failure) {
    if (failure.code() != ExitCode::io) throw;
    notice(line_of("no checkpoint of step ", state.step, ": ", failure.what(), "; training goes on"));
  }
}

Trainer::Trainer(ResolvedConfig config, Corpus corpus, TrainerOptions options)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(corpus), std::move(options))) {}
Trainer::~Trainer() = default;

void Trainer::resume_from(const Checkpoint& checkpoint) {
  impl_->resume_from(checkpoint);
}

void Trainer::init_from(const Checkpoint& checkpoint) {
  impl_->waiting_notices.push_back(
      inherit_weights(impl_->arena, impl_->settings(), impl_->corpus.vocabulary(), checkpoint));
  impl_->averages = AveragedWeights(impl_->arena, impl_->settings().train.ema);
}

void Trainer::add_listener(std::shared_ptr<Listener> listener) {
  impl_->listeners.push_back(std::move(listener));
}

PlanEvent Trainer::plan(bool measure) {
  return impl_->plan(measure);
}

Ending Trainer::run() {
  Impl& run = *impl_;
  run.announce();
  if (run.state.step == 0) {
    run.evaluate();  // the loss of guessing, near ln V
    run.keep_good_moment();
    if (run.rolls_back()) run.save_or_notice();
  }
  std::optional<Ending> ending;
  while (!(ending = run.reason_to_end())) {
    run.step();
    if (!run.evaluation_due()) continue;
    run.evaluate();
    run.keep_good_moment();
    run.save_or_notice();
  }
  if (ending == Ending::finished && run.evaluated_step != run.state.step) run.evaluate();
  if (run.saved_step != run.state.step) run.save();
  return *ending;
}

StepEvent Trainer::step() {
  return impl_->step();
}

const RunState& Trainer::state() const {
  return impl_->state;
}
const ResolvedConfig& Trainer::config() const {
  return impl_->config;
}
const Corpus& Trainer::corpus() const {
  return impl_->corpus;
}
LanguageModel& Trainer::model() {
  return *impl_->model;
}
Engine& Trainer::engine() {
  return *impl_->engine;
}
ParameterArena& Trainer::arena() {
  return impl_->arena;
}

}  // namespace chargpt
