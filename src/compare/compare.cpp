#include "compare/compare.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "compare/comparison_report.h"
#include "compare/planned_run.h"
#include "config/describe.h"
#include "config/load.h"
#include "network/model_types.h"
#include "report/format.h"
#include "run/kept_text.h"
#include "text/text_listing.h"
#include "train/evaluator.h"
#include "train/schedule.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// Seconds buy fewer steps on a machine that is shared, and not equally fewer.
void check_jobs(const std::vector<ResolvedConfig>& configs, const CompareOptions& options) {
  if (options.jobs == 1) return;
  for (const ResolvedConfig& resolved : configs) {
    const double seconds = resolved.config.train.max_seconds;
    if (seconds > 0)
      throw Error(ExitCode::usage, "--jobs ", options.jobs, " excludes a length in seconds, and ", resolved.config.name,
                  " has train.max_seconds = ", nlohmann::ordered_json(seconds).dump(),
                  ": trainings that share the machine would get fewer steps for their seconds, and not all alike; give "
                  "--max-iters or --max-epochs, or leave out --jobs");
  }
}

/// An evaluation of a part of the windows cannot tell when the whole split's loss is reached.
void check_target(const Config& config, const Corpus& corpus) {
  const std::int64_t interval = evaluation_interval(config, most_steps(config, corpus.train().size())),
                     all = WindowCut(corpus.val(), config.model.block_size).count(), batch = config.train.batch_size;
  if (windows_to_score(config, corpus.val().size(), interval) < all)
    throw Error(ExitCode::usage, "--target needs evaluations of the whole split, and those of ", config.name,
                " score a part of it; add --eval_iters ", (all + batch - 1) / batch);
}

bool same_text(const Corpus& a, const Corpus& b) {
  return a.fingerprint() == b.fingerprint() && a.vocabulary() == b.vocabulary() &&
         a.train().size() == b.train().size() && a.val().size() == b.val().size() && a.test().size() == b.test().size();
}

/// Whether this folder is a run whose config names these texts.
bool was_given(const fs::path& run, const Strings& text) {
  try {
    return config_of_run_folder(run).config.data.text == text;
  } catch (const Error&) {
    return false;
  }
}

/// The text where the config names it; if it is gone, that of a run of this comparison which was given the same names.
Corpus load_text(const DataConfig& data, const fs::path& out, const ReadingProgress& reading) {
  try {
    return load_corpus(data, std::nullopt, reading);
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing) throw;
    for (const std::string& name : entries_of(out))
      if (was_given(out / name, data.text))
        if (auto kept = kept_text(out / name, data)) return *std::move(kept);
    throw;
  }
}

/// The text that all configs of a comparison are trained and scored on: where the config names it, or where a run in
/// `out` found it before. Error usage where the configs' texts, units or splits differ; else as load_corpus.
Corpus load_common_text(const std::vector<ResolvedConfig>& configs, const fs::path& out,
                        const ReadingProgress& reading) {
  const Config& first = configs.front().config;
  Corpus corpus = load_text(first.data, out, reading);
  for (const ResolvedConfig& resolved : configs) {
    if (changed_options(first, resolved.config, "data").empty()) continue;
    if (!same_text(corpus, load_text(resolved.config.data, out, reading)))
      throw Error(ExitCode::usage, "configs ", first.name, " and ", resolved.config.name, " differ in their text (",
                  changed_options(first, resolved.config, "data").front(),
                  "); losses compare only on one text, in the same units and split");
  }
  return corpus;
}

/// One comparison under way.
class Comparer {
 public:
  Comparer(std::vector<ResolvedConfig> configs, const CompareOptions& options, const CompareHooks& hooks)
      : configs_(std::move(configs)),
        names_(distinct_names(configs_)),
        options_(options),
        hooks_(hooks),
        corpus_(load_common_text(configs_, options.out, hooks.reading)) {
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      const ModelConfig& model = configs_[i].config.model;
      check_model_config(model);
      check_splits(corpus_, model.block_size);
      results_.push_back({.config = names_[i],
                          .params = count_parameters(model, corpus_.vocabulary().size()),
                          .block_size = model.block_size,
                          .leaks = leaks(model)});
    }
    if (options.target)
      for (const ResolvedConfig& each : configs_) check_target(each.config, corpus_);
    hooks.text(corpus_);
  }

  Comparison run() {
    const std::string difference = length_difference(configs_, names_, corpus_.train().size());
    if (!difference.empty()) hooks_.notice(difference);
    RunsHooks hooks = hooks_.runs;
    hooks.take_over = [this](const PlannedRun& run) { return take_over(run); };
    hooks.start = [this](const PlannedRun& run) { return hooks_.start(run, corpus_); };
    hooks.ended = [this](const PlannedRun& run, bool reused) {
      hooks_.after_run(run, runs_of(run).seeds.back(), reused);
    };
    hooks.failed = [this](const PlannedRun& run, const Error& failure, double seconds) {
      runs_of(run).seeds.push_back(
          {.seed = run.seed(), .seconds = seconds, .jobs = options_.jobs, .run = run.folder, .failure = failure});
      hooks_.after_run(run, runs_of(run).seeds.back(), /*reused=*/false);
    };
    if (!run_all(planned(), {.jobs = options_.jobs, .stop = options_.stop}, hooks)) return {.complete = false};
    for (ConfigRuns& each : results_) std::ranges::sort(each.seeds, {}, &SeedRun::seed);  // whichever ended first
    return rank_configs(std::move(results_), corpus_.val());
  }

 private:
  /// Under max_seconds runs of later seeds replay the shares of the config's first seed, which ends before.
  std::vector<PlannedRun> planned() const {
    std::vector<PlannedRun> all;
    const std::int64_t first = configs_.front().config.train.seed, total = options_.seeds * std::ssize(configs_);
    for (std::int64_t seed = first; seed < first + options_.seeds; ++seed)
      for (std::size_t i = 0; i < configs_.size(); ++i) {
        const bool replays = configs_[i].config.train.max_seconds > 0 && seed != first;
        all.push_back({.config = names_[i],
                       .options = configs_[i],
                       .folder = options_.out / seed_folder_name(names_[i], seed),
                       .replays = replays ? options_.out / seed_folder_name(names_[i], first) : fs::path(),
                       .number = std::ssize(all) + 1,
                       .total = total});
        apply_overrides(all.back().options, std::vector<Override>{{"train.seed", std::to_string(seed), "--seed"}});
      }
    return all;
  }

  ConfigRuns& runs_of(const PlannedRun& run) {
    return results_[static_cast<std::size_t>(run.number - 1) % configs_.size()];
  }

  bool take_over(const PlannedRun& run) {
    std::string problem;
    std::optional<KeptRun> kept = kept_losses(run.folder, problem);
    if (!problem.empty()) hooks_.notice(problem + "; that run is evaluated again");
    if (!kept) return false;
    if (kept->text != corpus_.fingerprint() || std::ssize(kept->seed.losses) != corpus_.val().size() - 1)
      throw Error(ExitCode::busy, run.folder.string(), " was trained on another text; choose another --out");
    ConfigRuns& runs = runs_of(run);
    runs.params = kept->params;
    runs.leaks = kept->leaks;
    runs.seeds.push_back(std::move(kept->seed));
    return true;
  }

  std::vector<ResolvedConfig> configs_;
  std::vector<std::string> names_;  ///< as they are listed, each once
  const CompareOptions& options_;
  const CompareHooks& hooks_;
  Corpus corpus_;
  std::vector<ConfigRuns> results_;  ///< one per config, in the order given
};

/// "20.5k tokens in 40 steps", or "7.0 s" where only a clock will tell.
std::string length_of(const ResolvedConfig& resolved, std::int64_t train_tokens) {
  const TrainConfig& train = resolved.config.train;
  const std::string time = train.max_seconds > 0 ? format_duration(train.max_seconds) : "";
  const auto most = most_steps(resolved.config, train_tokens);
  if (!most) return time;
  const std::int64_t steps = *most;
  return time + (time.empty() ? "" : " or ") +
         format_short(static_cast<double>(steps * tokens_per_step(resolved.config))) + " tokens in " +
         format_count(steps) + " steps";
}

}  // namespace

Comparison compare(std::vector<ResolvedConfig> configs, const CompareOptions& options, const CompareHooks& hooks) {
  check_jobs(configs, options);
  Comparison comparison = Comparer(std::move(configs), options, hooks).run();
  if (!comparison.complete) return comparison;
  if (options.target) find_target(comparison, *options.target);
  write_file_atomically(options.out / "compare.json", json_text(to_json(comparison)));
  return comparison;
}

std::string length_difference(const std::vector<ResolvedConfig>& configs, const std::vector<std::string>& names,
                              std::int64_t train_tokens) {
  constexpr std::size_t most_listed = 4;
  std::vector<std::string> lengths, listed;
  for (const ResolvedConfig& config : configs) lengths.push_back(length_of(config, train_tokens));
  if (std::ranges::count(lengths, lengths.front()) == std::ssize(lengths)) return "";
  for (std::size_t i = 0; i < std::min(configs.size(), most_listed); ++i) listed.push_back(names[i] + " " + lengths[i]);
  return "configs differ in length: " + joined(listed, ", ") + (configs.size() > most_listed ? ", …" : "") +
         "; --max_iters makes steps equal, --max_epochs tokens, --max_seconds time";
}

}  // namespace chargpt
