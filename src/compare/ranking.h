// Statistics over configs trained with the same seeds on the same text: means, intervals, ranks, main effects of varied
// options, and the step at which each first reached a target loss. Pure functions over scored runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "evaluate/paired.h"
#include "network/model_types.h"
#include "report/events.h"

namespace chargpt {

/// The first evaluation with a loss at or below a target.
struct ReachedTarget {
  std::int64_t step = 0;
  double seconds = 0;
};

/// One config trained with one seed, scored on a whole split.
struct SeedRun {
  std::int64_t seed = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< nats per token; NaN if it failed
  double seconds = 0;
  double tokens_per_second = 0;  ///< in steps, without start-up, evaluations and saves
  std::int64_t step = 0;         ///< of the weights scored
  std::int64_t steps = 0;        ///< of the whole run; 0 if it failed
  Ending ended = Ending::unknown;
  double lowest_loss = std::numeric_limits<double>::infinity();  ///< of the run's exact evaluations; infinite: unknown
  std::int64_t lowest_step = 0;                                  ///< of that evaluation
  std::int64_t jobs = 1;     ///< runs trained at once; above 1 their times are not comparable
  std::string caution = {};  ///< why its loss may be too low
  std::filesystem::path run = {};
  std::string failure = {};  ///< why the run has no loss; empty if it has one
  std::optional<ReachedTarget> reached = {};
  bool evaluated = true;  ///< false: it has no evaluations, so whether it reached the target is unknown

  bool failed() const { return !failure.empty(); }
};

/// One config with all its seeds, and their statistics.
struct ConfigRuns {
  std::string config;  ///< its name in the comparison
  Config options = {};
  std::int64_t params = 0;
  std::vector<std::string> levels = {};  ///< of each varied option: "n_head=2"
  std::vector<SeedRun> seeds = {};

  // Set by rank_configs():
  MeanEstimate mean = {};                        ///< NaN if a seed failed
  std::int64_t rank = 0;                         ///< 1 is the lowest mean; 0: not ranked (leaks, or a seed failed)
  std::optional<MeanEstimate> versus_best = {};  ///< its loss minus that of rank 1, paired, with a joint 95 % interval
                                                 ///< over all pairs; absent for ranks 0 and 1

  /// It sees its own targets: listed, not ranked.
  bool leaks() const { return chargpt::leaks(options.model); }
  bool by_clock() const { return options.train.max_seconds > 0; }
};

/// False if the config leaks or one of its seeds failed.
bool can_be_ranked(const ConfigRuns& runs);
/// The loss of each seed.
std::vector<double> losses_of(const ConfigRuns& runs);

/// A value of a varied option, with the mean loss over all configs that have it.
struct LevelMean {
  std::string level;  ///< "n_head=2"
  double mean = 0;
  std::optional<MeanEstimate> versus_best = {};  ///< minus the best level's, paired by seeds; absent for the best level
};

struct Comparison {
  std::vector<ConfigRuns> results = {};              ///< by rank, then those without a rank in the given order
  std::vector<std::vector<LevelMean>> effects = {};  ///< by varied option, best level first; empty if only one varies
  std::string split = "val";
  std::int64_t tokens = 0;              ///< scored by each run; 0: unknown
  std::int64_t train_tokens = 0;        ///< 0: unknown
  std::int64_t pairs = 0;               ///< of ranked configs
  std::int64_t look = 1;                ///< tests so far, this one included, each with more seeds; 0: unknown
  std::vector<std::string> notes = {};  ///< other remarks on the verdict
  std::optional<double> target = {};    ///< the loss of --target

  /// "is ahead" needs p at or below it.
  double level() const { return level_of_look(look); }
};

/// Ranks the configs. All must have the same seeds in the same order and losses of the same tokens. The best one is
/// chosen by the same losses, so each comparison with it is corrected for all pairs (see evaluate/paired.h).
Comparison rank_configs(std::vector<ConfigRuns> configs);

/// Sets `target` and, from each run's metrics.jsonl, `reached` (by its first evaluation at or below the target) and
/// `evaluated`. Throws Error usage if evaluations are estimates, data if lines are malformed.
void find_target(Comparison& comparison, double target);

/// A run and its score.
struct TrainedRun {
  std::string name;  ///< as it was given
  ResolvedConfig config;
  std::int64_t params = 0;
  SeedRun seed;
};

/// "model.n_embd 64 -> 128", …: training options other than the seed in which two runs differ. Empty: they are seeds of
/// one config.
std::vector<std::string> differences_but_for_seed(const ResolvedConfig& a, const ResolvedConfig& b);

/// Groups runs whose configs differ only in the seed into one ConfigRuns, named after
/// the config, or after the run if it is alone. A second run of the same seed starts
/// another group. All groups get equally many seeds: the common ones or, without any,
/// the first ones. Adds lines to `remarks` on the groups and the runs left out.
std::vector<ConfigRuns> group_by_config(std::vector<TrainedRun> runs, std::vector<std::string>& remarks);

}  // namespace chargpt
