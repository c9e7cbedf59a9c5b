// The runs of a comparison: one after the other, or several at once as processes of their own.
#include "experiment/compare/compare.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/open_folder.h"
#include "base/quantile.h"
#include "config/changed_options.h"
#include "engine/device.h"
#include "evaluate/split_loss.h"
#include "experiment/compare/common_text.h"
#include "experiment/compare/comparison_report.h"
#include "experiment/compare/earlier_run.h"
#include "experiment/compare/kept_losses.h"
#include "experiment/compare/lengths.h"
#include "experiment/compare/target.h"
#include "experiment/held_out.h"
#include "experiment/own_process.h"
#include "experiment/run_names.h"
#include "inference/model_types.h"
#include "report/json_text.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "text/text_listing.h"
#include "train/conditions.h"
#include "train/evaluator.h"

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

std::string shortest(double value) {
  return nlohmann::ordered_json(value).dump();
}

void check_options(const std::vector<ResolvedConfig>& configs, const CompareOptions& options) {
  if (configs.empty()) throw Error(ExitCode::usage, "compare needs at least one config");
  if (options.seeds < 1 || options.seeds > 1000)
    throw Error(ExitCode::usage, "--seeds " + std::to_string(options.seeds) + " is outside 1 to 1000");
  if (options.max_iters && options.max_seconds)
    throw Error(ExitCode::usage, "--max-iters and --max-seconds exclude each other; give one");
  if (options.jobs < 1) throw Error(ExitCode::usage, "--jobs " + std::to_string(options.jobs) + " is below 1");
}

/// Seconds buy fewer steps on a machine that is shared, and not equally fewer.
void check_jobs(const std::vector<ResolvedConfig>& configs, const CompareOptions& options) {
  if (options.jobs == 1 && !options.shared) return;
  const std::string jobs = "--jobs " + std::to_string(options.jobs);
  const std::string who = options.shared ? "a comparison of several processes" : jobs;
  const std::string otherwise = options.shared ? "start one" : "leave out --jobs";
  for (const ResolvedConfig& resolved : configs)
    if (std::ranges::count(resolved.config.data.text, standard_input_name) > 0)
      throw Error(ExitCode::usage, who +
                                       " has processes that cannot all read standard input; write the text into a "
                                       "file and give that, or " +
                                       otherwise);
  for (const ResolvedConfig& resolved : configs)
    if (resolved.config.train.max_seconds > 0)
      throw Error(ExitCode::usage, who + " excludes a length in seconds, and " + resolved.config.name +
                                       " has train.max_seconds = " + shortest(resolved.config.train.max_seconds) +
                                       ": trainings that share the machine would get fewer steps for their "
                                       "seconds, and not all alike; give --max-iters or --max-epochs, or " +
                                       otherwise);
}

/// The options' length in place of the config's own.
void set_length(ResolvedConfig& resolved, const CompareOptions& options) {
  if (!options.max_iters && !options.max_seconds) return;
  std::vector<Override> overrides = {{"train.max_epochs", "0", "compare"}};
  overrides.push_back({"train.max_seconds", shortest(options.max_seconds.value_or(0)), "--max-seconds"});
  if (options.max_iters) overrides.push_back({"train.max_iters", std::to_string(*options.max_iters), "--max-iters"});
  apply_overrides(resolved, overrides);
}

void set_seed(ResolvedConfig& resolved, std::int64_t seed) {
  apply_overrides(resolved, std::vector<Override>{{"train.seed", std::to_string(seed), "--seed"}});
}

void make_folder(const fs::path& path) {
  std::error_code failed;
  fs::create_directory(path, failed);
  if (failed) throw Error(ExitCode::io, "cannot make the folder " + path.string() + ": " + failed.message());
}

/// One comparison under way.
class Comparer {
 public:
  Comparer(std::vector<ResolvedConfig> configs, const CompareOptions& options, const CompareHooks& hooks)
      : configs_(prepared(std::move(configs), options)),
        names_(distinct_names(configs_)),
        options_(options),
        hooks_(hooks),
        out_(open_if_there(options.out)),
        corpus_(corpus_of(configs_, options, hooks)),
        first_seed_(configs_.front().config.train.seed) {
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      const ModelConfig& model = configs_[i].config.model;
      check_model_config(model);
      check_splits(corpus_, model.block_size);
      limit_evaluations_of_long_split(configs_[i], corpus_.val().size());
      results_.push_back({.config = names_[i], .block_size = model.block_size});
    }
  }

  /// False where it was stopped. What is in the way of any of the runs is said before the first.
  bool run() {
    refuse_other_runs();
    if (const auto line = length_difference(configs_, names_, corpus_.train().size()); !line.empty()) notice(line);
    return options_.jobs > 1 && !options_.shared ? run_at_once() : run_in_turn(entries());
  }

  /// One of the runs, while others may be under way beside it. False where it was stopped. Error io where the folder of
  /// the runs, which is there already, is not.
  bool run_one(std::int64_t number) {
    if (!out_) throw Error(ExitCode::io, "the folder " + options_.out.string() + " is gone");
    Entry entry = entries().at(static_cast<std::size_t>(number - 1));
    if (!settle(entry)) return false;
    const SeedRun& result = results_[entry.index].seeds.back();
    if (!result.failure.empty()) throw Error(ExitCode::diverged, result.failure);
    return true;
  }

  /// Where the runs are now. Error io where that is gone.
  const fs::path& out() {
    if (!out_) {
      make_folder(options_.out);
      out_ = std::make_unique<OpenFolder>(options_.out);
    }
    return out_->path();
  }

  /// Each config's runs by seed, whichever ended first.
  std::vector<ConfigRuns> results() {
    for (ConfigRuns& runs : results_)
      std::sort(runs.seeds.begin(), runs.seeds.end(),
                [](const SeedRun& a, const SeedRun& b) { return a.seed < b.seed; });
    return std::move(results_);
  }

 private:
  struct Entry {
    std::size_t index;
    ResolvedConfig config;
    ComparedRun about;
  };
  /// A run that is a process of its own.
  struct Job {
    Entry entry;
    std::unique_ptr<ChildProcess> process;
    double begun;  ///< by steady_seconds()
  };

  static Corpus corpus_of(const std::vector<ResolvedConfig>& configs, const CompareOptions& options,
                          const CompareHooks& hooks) {
    Corpus corpus = load_common_text(configs, options.out, hooks.reading);
    return options.within_train_split ? train_split_of(corpus) : corpus;
  }

  static std::vector<ResolvedConfig> prepared(std::vector<ResolvedConfig> configs, const CompareOptions& options) {
    check_options(configs, options);
    for (ResolvedConfig& resolved : configs) set_length(resolved, options);
    check_jobs(configs, options);
    return configs;
  }

  void refuse_other_runs() const {
    for (const Entry& entry : entries()) refuse_another_run(entry.about.run, entry.config.config);
  }

  bool run_in_turn(std::vector<Entry> entries) {
    if (options_.shared) return run_beside_others({entries.begin(), entries.end()});
    for (Entry& entry : entries)
      if (stopped() || !settle(entry)) return false;
    return true;
  }

  /// What another process is training is looked at again, until it has ended there or that process has.
  bool run_beside_others(std::deque<Entry> left) {
    std::size_t busy_in_a_row = 0;
    while (!left.empty()) {
      if (stopped()) return false;
      Entry entry = std::move(left.front());
      left.pop_front();
      const std::optional<bool> settled = settle_if_free(entry);
      if (settled.has_value() && !*settled) return false;
      if (!settled) left.push_back(std::move(entry));
      busy_in_a_row = settled ? 0 : busy_in_a_row + 1;
      if (busy_in_a_row >= left.size()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
  }

  /// As settle(); none where another process has the run.
  std::optional<bool> settle_if_free(Entry& entry) {
    place(entry);
    if (is_locked(entry.about.run)) return std::nullopt;
    try {
      return settle(entry);
    } catch (const Error& error) {
      if (error.code() != ExitCode::busy || !is_locked(entry.about.run)) throw;  // taken just now
      return std::nullopt;
    }
  }

  /// Makes the run's folder, also where the comparison's own was renamed.
  void place(Entry& entry) {
    entry.about.run = out() / entry.about.run.filename();
    make_folder(entry.about.run);
  }

  /// Reuses the run or trains it; false where it was stopped.
  bool settle(Entry& entry) {
    place(entry);
    const RunLock lock(entry.about.run);
    refuse_another_run(entry.about.run, entry.config.config);
    const bool reused = reuse(entry);
    if (!reused && !train(entry)) return false;
    announce(entry, reused);
    return true;
  }

  void announce(const Entry& entry, bool reused) const {
    if (hooks_.after_run) hooks_.after_run(entry.about, results_[entry.index].seeds.back(), reused);
  }

  /// What is thrown on the way ends the other processes too, each when it has saved.
  bool run_at_once() {
    const std::vector<Entry> all = entries();
    std::deque<Entry> waiting(all.begin(), all.end());
    std::vector<Job> running;
    while (!waiting.empty() || !running.empty()) {
      if (stopped()) {
        for (const Job& job : running) job.process->ask_to_stop();
        return false;  // and `running` waits for them
      }
      while (std::ssize(running) < options_.jobs && !waiting.empty()) {
        begin(std::move(waiting.front()), running);
        waiting.pop_front();
      }
      if (!collect_ended(running)) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  void begin(Entry entry, std::vector<Job>& running) {
    place(entry);
    {
      const RunLock lock(entry.about.run);
      refuse_another_run(entry.about.run, entry.config.config);
      if (reuse(entry)) return announce(entry, /*reused=*/true);
    }
    if (hooks_.started) hooks_.started(entry.about);
    start(std::move(entry), running);
  }

  void start(Entry entry, std::vector<Job>& running) {
    place(entry);
    auto process = options_.start(entry.about.number);
    running.push_back({std::move(entry), std::move(process), steady_seconds()});
  }

  /// A process that was on its way to its folder when that was renamed fails, by whatever it misses first.
  bool missed_its_folder(const Job& job) {
    const int code = *job.process->ended();
    return code != 0 && code != static_cast<int>(ExitCode::diverged) && job.entry.about.run.parent_path() != out();
  }

  std::int64_t threads_of_a_job() const {
    const std::int64_t threads = options_.trainer.threads > 0 ? options_.trainer.threads : physical_cores();
    return std::max<std::int64_t>(1, threads / std::min(options_.jobs, options_.seeds * std::ssize(configs_)));
  }

  bool collect_ended(std::vector<Job>& running) {
    const auto ended =
        std::find_if(running.begin(), running.end(), [](const Job& job) { return job.process->ended().has_value(); });
    if (ended == running.end()) return false;
    Job job = std::move(*ended);
    running.erase(ended);
    try {
      if (missed_its_folder(job))
        start(std::move(job.entry), running);
      else
        collect(job);
    } catch (...) {
      for (const Job& other : running) other.process->ask_to_stop();
      throw;
    }
    return true;
  }

  void collect(Job& job) {
    Entry& entry = job.entry;
    place(entry);
    const int code = *job.process->ended();
    if (code == static_cast<int>(ExitCode::diverged)) {
      results_[entry.index].seeds.push_back({.seed = entry.about.seed,
                                             .seconds = steady_seconds() - job.begun,
                                             .jobs = options_.jobs,
                                             .run = entry.about.run,
                                             .failure = error_of(*job.process, code)});
    } else if (code != 0) {
      throw failure_of_run(entry.about.config + " with seed " + std::to_string(entry.about.seed), *job.process, code);
    } else if (!reuse(entry)) {
      throw Error(ExitCode::internal, entry.about.run.string() + " was trained but has no losses");
    }
    announce(entry, /*reused=*/false);
  }

  std::vector<Entry> entries() const {
    std::vector<Entry> all;
    const std::int64_t total = options_.seeds * std::ssize(configs_);
    for (std::int64_t seed = first_seed_; seed < first_seed_ + options_.seeds; ++seed)
      for (std::size_t i = 0; i < configs_.size(); ++i) {
        Entry entry{i, configs_[i], {names_[i], seed, {}, std::ssize(all) + 1, total, {}}};
        set_seed(entry.config, seed);
        entry.about.run = run_folder(i, seed);
        all.push_back(std::move(entry));
      }
    return all;
  }

  bool stopped() const { return options_.trainer.stop && options_.trainer.stop->load(); }
  void notice(const std::string& line) const {
    if (hooks_.notice) hooks_.notice(line);
  }

  /// Takes over a run that has ended.
  bool reuse(const Entry& entry) {
    std::string problem;
    std::optional<KeptRun> kept = kept_losses(entry.about.run, problem);
    if (!problem.empty()) notice(problem + "; that run is evaluated again");
    if (!kept) return false;
    if (kept->text != corpus_.fingerprint() || std::ssize(kept->seed.losses) != corpus_.val().size() - 1)
      throw Error(ExitCode::busy, entry.about.run.string() + " was trained on another text; choose another --out");
    add(entry, std::move(*kept));
    return true;
  }

  void add(const Entry& entry, KeptRun kept) {
    ConfigRuns& runs = results_[entry.index];
    runs.params = kept.params;
    runs.leaks = kept.leaks;
    runs.seeds.push_back(std::move(kept.seed));
  }

  /// False where it was stopped.
  bool train(Entry& entry) {
    mark_run(entry.about.run);
    remove_unfinished_files(entry.about.run);
    OpenFolder folder(entry.about.run);
    const std::optional<Checkpoint> begun = begun_run(entry);
    if (begun) keep_length(entry.config, begun->config);
    Trainer trainer(entry.config, corpus_, trainer_options(entry, begun));
    const auto speedometer = std::make_shared<Speedometer>();
    trainer.add_listener(speedometer);
    if (begun) trainer.resume_from(*begun);
    if (hooks_.before_run) hooks_.before_run(entry.about, trainer);
    KeptRun kept{.seed = {.seed = entry.about.seed, .jobs = options_.jobs, .run = entry.about.run},
                 .params = trainer.state().parameters,
                 .block_size = entry.config.config.model.block_size,
                 .leaks = leaks(entry.config.config.model),
                 .text = corpus_.fingerprint()};
    try {
      trainer.plan(/*measure=*/false);
      const auto write_config = [&] {
        write_file_atomically(folder.path() / "config.json", json_text(to_json(trainer.config().config)));
      };
      write_config();  // before the first step
      if (trainer.run() == Ending::stopped) return false;
      kept.seed.run = entry.about.run = folder.path();
      write_config();  // what max_seconds has come to
      score_end(entry, trainer, kept.seed);
    } catch (const Interrupted&) {
      return false;
    } catch (const Error& error) {
      if (error.code() != ExitCode::diverged) throw;
      kept.seed.failure = error.what();
    }
    kept.seed.steps = trainer.state().step;
    kept.seed.ended = trainer.state().ended;
    kept.seed.seconds = trainer.state().seconds;
    const double tokens = static_cast<double>(trainer.state().step * tokens_per_step(trainer.config().config));
    kept.seed.tokens_per_second = speedometer->median_or(kept.seed.seconds > 0 ? tokens / kept.seed.seconds : 0);
    if (kept.seed.failure.empty()) keep_losses(entry.about.run, kept);
    add(entry, std::move(kept));
    return true;
  }

  /// What a comparison that was broken off has left of a run.
  std::optional<Checkpoint> begun_run(Entry& entry) const {
    if (list_checkpoints(entry.about.run).empty()) return std::nullopt;
    std::vector<std::string> notices;
    Checkpoint checkpoint = load_checkpoint(entry.about.run, "last", /*with_optimizer=*/true, notices);
    for (const std::string& line : notices) notice(line);
    entry.about.resume_step = checkpoint.state.step;
    return checkpoint;
  }

  /// A run that goes on keeps its number of threads, however many jobs there are now, unless one is asked for.
  TrainerOptions trainer_options(const Entry& entry, const std::optional<Checkpoint>& begun) const {
    TrainerOptions options = options_.trainer;
    options.run = entry.about.run;
    options.process_started = 0;
    if (begun) options = options_to_resume(options, begun->state);
    options.settled = settled_length(entry);
    const bool asked_for = options_.trainer.threads > 0;
    if (options_.jobs > 1 && (asked_for || options.threads == 0)) options.threads = threads_of_a_job();
    return options;
  }

  /// What max_seconds has come to in the run of the config's first seed, which the others replay; its config.json says.
  SettledLength settled_length(const Entry& entry) const {
    const fs::path first = run_folder(entry.index, first_seed_);
    std::error_code ignored;
    if (entry.config.config.train.max_seconds == 0 || entry.about.seed == first_seed_ ||
        !fs::exists(first / "config.json", ignored))
      return {};
    const Config kept = config_of_earlier(first).config;
    return {.decay_steps = kept.train.decay_steps, .eval_iters = kept.eval.eval_iters};
  }

  fs::path run_folder(std::size_t index, std::int64_t seed) const {
    return options_.out / seed_folder_name(names_[index], seed);
  }

  /// The best checkpoint is the best on the very split that is scored: a run that is evaluated more often would have
  /// more to choose from.
  void score_end(const Entry& entry, Trainer& trainer, SeedRun& seed) const {
    std::vector<std::string> notices;
    const Checkpoint last = load_checkpoint(entry.about.run, "last", /*with_optimizer=*/false, notices);
    for (const std::string& line : notices) notice(line);
    trainer.use_weights(last);
    SplitLoss loss =
        split_loss(trainer.engine(), corpus_.val(), entry.config.config.model.block_size, 0, [this](double) {
          if (stopped()) throw Interrupted{};
        });
    if (!std::isfinite(loss.mean))
      throw Error(ExitCode::diverged, "the weights of " + last.path.string() + " give no finite loss");
    seed.loss = loss.mean;
    seed.losses = std::move(loss.losses);
    seed.step = last.state.step;
    if (entry.config.config.eval.eval_iters == 0) {  // else it is an estimate, which compares with no loss of the split
      seed.lowest_loss = last.state.best_val_loss;
      seed.lowest_step = last.state.best_step;
    }
  }

  std::vector<ResolvedConfig> configs_;
  std::vector<std::string> names_;  ///< as they are listed, each once
  const CompareOptions& options_;
  const CompareHooks& hooks_;
  std::unique_ptr<OpenFolder> out_;  ///< once there is such a folder
  Corpus corpus_;
  std::int64_t first_seed_;
  std::vector<ConfigRuns> results_;  ///< one per config, in the order given
};

}  // namespace

Comparison compare(std::vector<ResolvedConfig> configs, const CompareOptions& options, const CompareHooks& hooks) {
  Comparer comparer(std::move(configs), options, hooks);
  if (!comparer.run()) return {.complete = false};
  Comparison comparison = rank_configs(comparer.results());
  comparison.within_train_split = options.within_train_split;
  if (options.target) find_target(comparison, *options.target);
  if (options.writes) write_file_atomically(comparer.out() / "compare.json", json_text(to_json(comparison)));
  return comparison;
}

bool compare_one(std::vector<ResolvedConfig> configs, const CompareOptions& options, std::int64_t number,
                 const CompareHooks& hooks) {
  const std::int64_t total = options.seeds * std::ssize(configs);
  Comparer comparer(std::move(configs), options, hooks);
  if (number < 1 || number > total)
    throw Error(ExitCode::usage,
                "--only " + std::to_string(number) + " is outside the runs 1 to " + std::to_string(total));
  return comparer.run_one(number);
}

}  // namespace chargpt
