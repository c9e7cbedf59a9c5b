#include "experiment/tune.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/device.h"
#include "engine/engine.h"
#include "experiment/planned_run.h"
#include "inference/model_types.h"
#include "learner/step.h"
#include "report/format.h"
#include "train/plan.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

constexpr double part_of_range_test = 0.05;
constexpr std::int64_t least_range_steps = 40, most_range_steps = 200;
constexpr std::int64_t most_scored_tokens = 262'144;  ///< of a long held-out part, evenly spaced windows
constexpr const char* embedding_and_head = "wte|lm_head";
constexpr std::int64_t never = 1'000'000'000'000;  ///< an interval that no run reaches

/// The config as its trainings run here: evaluated at the end alone, nothing sampled, no early stop.
Config for_search(Config config, const Corpus& corpus) {
  TrainConfig& train = config.train;
  train.max_epochs = train.max_seconds = 0;
  train.lr_decay_iters = 0;  // the schedule follows the length, whatever that becomes
  train.patience = 0;
  train.ema = 0;
  train.on_nonfinite = OnNonfinite::stop;
  config.eval.eval_interval = never;
  config.eval.sample_tokens = 0;
  config.eval.eval_iters = 0;
  if (corpus.val().size() > most_scored_tokens)
    config.eval.eval_iters =
        std::max<std::int64_t>(1, most_scored_tokens / (train.batch_size * config.model.block_size));
  return config;
}

/// One search under way.
class Search {
 public:
  Search(const ResolvedConfig& config, const Corpus& corpus, const TuneOptions& options)
      : options_(options),
        device_(choose_device(options.trainer.device, options.trainer.engine)),
        begun_(now()),
        given_(config),
        corpus_(train_split_of(corpus)) {
    if (!(options.seconds > 0)) throw Error(ExitCode::usage, "--minutes must be above 0");
    check_model_config(config.config.model);
    refuse_teachers_of_train_split(config);
    check_splits(corpus_, config.config.model.block_size);
    tuning_.start = config.config;
    tuning_.train_tokens = corpus_.train().size();
    tuning_.scored_tokens = corpus_.val().size() - 1;
    tuning_.memory = options.memory > 0 ? options.memory : physical_memory() / 2;
    if (const std::int64_t needed = memory_of(config.config); needed > tuning_.memory)
      throw Error(ExitCode::memory, config.config.name, " itself needs about ", format_bytes(needed),
                  ", above the cap of ", format_bytes(tuning_.memory),
                  "; raise --memory or start from a smaller config");
  }

  Tuning run() {
    try {
      measure_start();
    } catch (const Interrupted&) {  // stopped
    }
    if (!stopped()) run_rounds();
    tuning_.complete = !stopped();
    tuning_.spent_seconds = now() - begun_;
    sort_trials();
    return std::move(tuning_);
  }

 private:
  std::int64_t memory_of(const Config& config) const {
    const std::int64_t vocab_size = corpus_.vocabulary().size(), threads = options_.trainer.threads;
    const std::string engine = chosen_engine(options_.trainer.engine, config.model, config.train, device_);
    return resident_ + memory_estimate(config, {.vocab_size = vocab_size,
                                                .parameters = count_parameters(config.model, vocab_size),
                                                .threads = threads > 0 ? threads : physical_cores(),
                                                .cpu_engine = engine == "cpu",
                                                .device = device_ == "cpu" ? "" : device_});
  }

  bool allowed(const Config& config) const {
    try {
      check_model_config(config.model);
    } catch (const Error&) {
      return false;
    }
    return memory_of(config) <= tuning_.memory && depth_matters(config.model);
  }

  /// A depth that the model type has no use for would only look like a choice.
  bool depth_matters(ModelConfig model) const {
    if (model.n_layer == tuning_.start.model.n_layer) return true;
    const std::int64_t vocab_size = corpus_.vocabulary().size(), parameters = count_parameters(model, vocab_size);
    model.n_layer = tuning_.start.model.n_layer;
    return count_parameters(model, vocab_size) != parameters;
  }

  double now() const { return options_.trainer.clock ? options_.trainer.clock() : steady_seconds(); }
  bool stopped() const { return options_.trainer.stop && options_.trainer.stop->load(); }
  double left() const { return options_.seconds - (now() - begun_); }

  std::unique_ptr<Trainer> trainer_of(const Config& config) const {
    ResolvedConfig resolved = given_;
    resolved.config = config;
    TrainerOptions trainer = options_.trainer;
    trainer.run.clear();
    trainer.process_started = 0;
    return std::make_unique<Trainer>(std::move(resolved), corpus_, trainer);
  }

  /// How long the config's own length takes, and the range test, with one model.
  void measure_start() {
    const double making = now();
    const auto trainer = trainer_of(for_own_length());
    overhead_ = options_.overhead + (now() - making) + 0.05;
    if (leaks(given_.config.model))
      throw Error(ExitCode::usage, given_.config.name, " ", leaks_label, "; there is no loss to tune by");
    for (const ParameterGroup& group : trainer->arena().groups())
      for (const ParameterSlot& slot : group.slots)
        if (slot.name.find("wte") != std::string::npos) pattern_ = embedding_and_head;
    const double limit = given_.config.train.max_seconds;
    const PlanEvent plan = trainer->plan(/*measure=*/true);
    tuning_.full_seconds = plan.seconds.value_or(1);
    seconds_per_step_ = tuning_.full_seconds / static_cast<double>(std::max<std::int64_t>(1, plan.max_iters));
    if (limit > 0) tuning_.full_seconds = std::min(limit, tuning_.full_seconds);
    range_test(*trainer_of(for_own_length()));  // measuring has trained the other
  }

  /// A length in seconds alone is known; of others the steps decide.
  Config for_own_length() const {
    Config config = for_search(given_.config, corpus_);
    const TrainConfig& train = given_.config.train;
    config.train.max_epochs = train.max_epochs;
    if (train.max_iters == 0 && train.max_epochs == 0 && train.max_seconds > 0) config.train.max_iters = never;
    return config;
  }

  /// Rising rates, one step each, until the loss has clearly gone up or the time for it is over.
  void range_test(Trainer& trainer) {
    const Config& config = trainer.config().config;
    const BatchSource batches(corpus_.train(), config.model.block_size, config.train);
    const double begun = now();
    std::int64_t count = most_range_steps;
    for (std::int64_t i = 0; i < count && !stopped(); ++i) {
      const std::vector<std::int64_t> starts = batches.starts(i);
      const double factor = range_factor(i, count);
      const StepResult result = make_step(trainer.engine(), trainer.arena(), config.train, factor,
                                          {.step = i,
                                           .seed = static_cast<std::uint64_t>(config.train.seed),
                                           .micro_batches = batches.micro_batches(starts),
                                           .heartbeat = [this](double) {
                                             if (stopped()) throw Interrupted{};
                                           }});
      tuning_.range.push_back({factor, result.loss});
      if (!result.updated || result.loss > 2 * tuning_.range.front().loss) break;
      if (i == 2) count = steps_of_range_test((now() - begun) / 3);
    }
    tuning_.centre = centre_of(tuning_.range);
    options_.told("range test of " + format_count(std::ssize(tuning_.range), "step") + ": searching around " +
                  format_fixed(tuning_.centre, tuning_.centre < 1 ? 3 : 1) + " times the config's learning rates");
  }

  std::int64_t steps_of_range_test(double seconds_per_step) const {
    const double steps = part_of_range_test * options_.seconds / std::max(1e-6, seconds_per_step);
    return std::clamp(static_cast<std::int64_t>(std::min(steps, 1e6)), least_range_steps, most_range_steps);
  }

  void run_rounds() {
    tuning_.rounds = plan_rounds(left(), tuning_.full_seconds, overhead_);
    const std::vector<Candidate> candidates =
        draw_candidates(tuning_.start, tuning_.centre, tuning_.rounds.front().candidates,
                        static_cast<std::uint64_t>(tuning_.start.train.seed), pattern_,
                        [this](const Config& config) { return allowed(config); });
    for (const Candidate& candidate : candidates) {
      Trial trial{.candidate = candidate, .config = apply(tuning_.start, candidate, pattern_)};
      trial.parameters = count_parameters(trial.config.model, corpus_.vocabulary().size());
      tuning_.trials.push_back(std::move(trial));
    }
    for (std::size_t round = 0; round < tuning_.rounds.size() && !stopped(); ++round) run_round(round);
  }

  /// The best of the round before train for longer; the config as it is also takes part in the last round.
  void run_round(std::size_t index) {
    const Round& round = tuning_.rounds[index];
    options_.told("round " + std::to_string(index + 1) + " of " + std::to_string(tuning_.rounds.size()) + ": " +
                  format_duration(round.seconds) + " of training each");
    std::vector<Trial*> taking_part = best_of_round(index, round.candidates);
    const bool last = index + 1 == tuning_.rounds.size();
    Trial& as_it_is = *std::ranges::find(tuning_.trials, Candidate{}, &Trial::candidate);
    if (last && std::ranges::count(taking_part, &as_it_is) == 0) taking_part.push_back(&as_it_is);
    for (std::size_t i = 0; i < taking_part.size() && !stopped(); ++i) {
      Trial& trial = *taking_part[i];
      const bool needed = i == 0 || (last && &trial == &as_it_is);
      if (left() < 0 && !needed) continue;
      const std::string name = describe(trial.candidate);
      PlannedRun run{.config = name,
                     .options = given_,
                     .number = static_cast<std::int64_t>(i) + 1,
                     .total = std::ssize(taking_part)};
      run.options.config = settled(trial, round.seconds);
      std::optional<Trained> trained = options_.train(run);
      if (!trained) return;  // stopped
      trained->round = index + 1;
      trained->seconds = round.seconds;
      options_.told(name + ": " + (trained->failure ? trained->failure->what() : format_fixed(trained->loss, 4)));
      trial.rounds.push_back(*std::move(trained));
    }
  }

  /// `count` of those that took part in the round before `index`, lowest loss first.
  std::vector<Trial*> best_of_round(std::size_t index, std::int64_t count) {
    std::vector<Trial*> trials;
    for (Trial& trial : tuning_.trials)
      if (index == 0 || trial.last_round() == index) trials.push_back(&trial);
    if (index > 0)
      std::stable_sort(trials.begin(), trials.end(),
                       [](const Trial* a, const Trial* b) { return a->rounds.back().loss < b->rounds.back().loss; });
    trials.resize(std::min(trials.size(), static_cast<std::size_t>(count)));
    return trials;
  }

  /// Of so many seconds, with a warm-up that leaves time to learn: at most a tenth of the steps, which are guessed by
  /// the sizes of this model and the one measured.
  Config settled(const Trial& trial, double seconds) const {
    Config config = for_search(trial.config, corpus_);
    config.train.max_iters = 0;
    config.train.max_seconds = seconds;
    const auto size = [&](const Config& of) {
      const std::int64_t parameters = count_parameters(of.model, corpus_.vocabulary().size());
      return static_cast<double>(parameters) * static_cast<double>(tokens_per_step(of));
    };
    const double steps = seconds / seconds_per_step_ * size(tuning_.start) / size(config);
    const double most = std::clamp(steps / 10, 0.0, 1e9);
    config.train.warmup_iters = std::min(config.train.warmup_iters, static_cast<std::int64_t>(most));
    return config;
  }

  void sort_trials() {
    std::stable_sort(tuning_.trials.begin(), tuning_.trials.end(), [](const Trial& a, const Trial& b) {
      if (a.measured() != b.measured()) return a.measured();
      if (a.last_round() != b.last_round() || a.rounds.empty()) return a.last_round() > b.last_round();
      return a.rounds.back().loss < b.rounds.back().loss;
    });
  }

  const TuneOptions& options_;
  std::string device_;
  double begun_;
  ResolvedConfig given_;
  Corpus corpus_;
  std::int64_t resident_ = resident_memory();  ///< at the start
  double overhead_ = 0;                        ///< seconds of a training beside its own time
  double seconds_per_step_ = 1;                ///< of the config as it is
  std::string pattern_;                        ///< of embedding and head, where the model has them by those names
  Tuning tuning_;
};

}  // namespace

const Trial& Tuning::before() const {
  return *std::ranges::find(trials, Candidate{}, &Trial::candidate);
}

std::optional<Trained> train_candidate(const PlannedRun& candidate, const std::atomic<bool>* stop, RunsHooks hooks) {
  Trained trained{.loss = std::numeric_limits<double>::infinity()};
  bool ended = false;
  hooks.take_over = [&](const PlannedRun&) { return ended; };
  hooks.row = [&](const PlannedRun&, const nlohmann::ordered_json& row) {
    const std::string kind = row["kind"].get<std::string>();
    if (kind == "eval" && row.contains("val_loss") && row["val_loss"].is_number()) row["val_loss"].get_to(trained.loss);
    if (kind != "end") return;
    ended = true;
    row.at("step").get_to(trained.steps);
  };
  hooks.failed = [&](const PlannedRun&, const Error& failure, double) {
    trained = {.loss = std::numeric_limits<double>::infinity(), .failure = failure};
  };
  struct Removed {
    ~Removed() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
    std::filesystem::path folder;
  };
  const Removed afterwards{candidate.folder};
  if (!run_all({candidate}, {.stop = stop}, hooks)) return std::nullopt;
  return trained;
}

Tuning tune(const ResolvedConfig& config, const Corpus& corpus, const TuneOptions& options) {
  Tuning tuning = Search(config, corpus, options).run();
  if (tuning.complete && !tuning.any_trained()) {
    const Error& failure = *tuning.before().rounds.back().failure;
    throw Error(failure.code(), "every training of the search failed; ", config.config.name,
                " as it is: ", failure.what());
  }
  return tuning;
}

}  // namespace chargpt
