// What several configs, each trained with the same seeds on the same text, say about each other: means, intervals,
// ranks, main effects of varied options, and when each first reached a target loss. Pure functions over scored runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/token_view.h"
#include "config/load.h"
#include "evaluate/paired.h"
#include "report/events.h"

namespace chargpt {

/// The first evaluation that found a loss at or under a target.
struct ReachedTarget {
  std::int64_t step = 0;
  double seconds = 0;
};

/// One config trained with one seed, scored on a whole split.
struct SeedRun {
  std::int64_t seed = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< nats per token
  double seconds = 0;
  double tokens_per_second = 0;  ///< while it trained: without start-up, evaluations and saves
  std::int64_t step = 0;         ///< of the weights scored
  std::int64_t steps = 0;        ///< of the whole run; 0 for one that failed
  Ending ended = Ending::unknown;
  double lowest_loss = std::numeric_limits<double>::infinity();  ///< of the run's exact evaluations; infinite: unknown
  std::int64_t lowest_step = 0;                                  ///< of that evaluation
  std::int64_t jobs = 1;     ///< runs that trained at once; above 1 times compare with nothing
  std::string caution = {};  ///< why its loss may be too low
  std::filesystem::path run = {};
  std::string failure = {};        ///< of a run without a loss: what went wrong
  std::vector<float> losses = {};  ///< of every token, in the order of the text
  std::optional<ReachedTarget> reached = {};

  bool failed() const { return !failure.empty(); }
};

/// One config with all its seeds.
struct ConfigRuns {
  std::string config;
  std::int64_t params = 0, block_size = 0, tokens_per_step = 0;
  bool leaks = false;                    ///< it sees its own targets: listed, never ranked
  bool by_clock = false;                 ///< train.max_seconds ends it
  std::vector<std::string> levels = {};  ///< of each varied option: "n_head=2"
  std::vector<SeedRun> seeds = {};
};

/// Without its runs.
ConfigRuns config_runs(const std::string& name, const Config& config, std::int64_t params);

struct ConfigResult {
  ConfigRuns runs;
  MeanEstimate mean;                        ///< of this config alone; NaN where a seed failed
  std::int64_t rank = 0;                    ///< 1 is the lowest mean; 0: not ranked (leaks, or a seed failed)
  std::optional<MeanEstimate> versus_best;  ///< its loss minus that of rank 1, paired, at 95 % for all pairs together;
                                            ///< absent for rank 1 and where rank is 0
};

/// False for one that leaks, or of which a seed failed.
bool can_be_ranked(const ConfigResult& result);
/// Of each seed, every token's.
std::vector<std::vector<float>> losses_of(const ConfigRuns& runs);

/// A value of a varied option: the mean over all configs that have it.
struct LevelMean {
  std::string level;  ///< "n_head=2"
  double mean = 0;
  std::optional<MeanEstimate> versus_best = {};  ///< minus the option's best level, paired by seeds; absent for that
};

/// A test of the same comparison with more seeds is another look: `number` counts them from 1, 0 where that is unknown.
struct Look {
  std::int64_t number = 1;
  double level = first_look_level;  ///< "is ahead" needs p at or below it
};
Look look_of(std::int64_t number);

struct Comparison {
  std::vector<ConfigResult> results = {};            ///< by rank, then those without one in the order they were given
  std::vector<std::vector<LevelMean>> effects = {};  ///< of each varied option, best level first; empty below two
  std::string split = "val";
  std::int64_t tokens = 0;        ///< scored by each run
  std::int64_t train_tokens = 0;  ///< 0: unknown
  std::int64_t pairs = 0;         ///< of ranked configs
  Look look = {};
  std::vector<std::string> notes = {};  ///< what else a reader of the verdict must know
  std::optional<double> target = {};    ///< loss whose time is asked for
};

/// Every config must have the same seeds in the same order, and losses of the same tokens. The best is chosen by these
/// very losses, so each comparison with it is corrected for all pairs that there are (see evaluate/paired.h). `text`:
/// the split, so that tenths contain whole documents.
Comparison rank_configs(std::vector<ConfigRuns> configs, const TokenView& text = {});

/// The first evaluation of a run at or under the target, by its metrics.jsonl. Errors: usage for evaluations that are
/// estimates, data for malformed lines.
std::optional<ReachedTarget> reached_by(const SeedRun& run, double target);
/// Sets `target`, and `reached` of every run. Errors as above.
void find_target(Comparison& comparison, double target);

/// A run and its score.
struct TrainedRun {
  std::string name;  ///< as it was given
  ResolvedConfig config;
  std::int64_t params = 0;
  SeedRun seed;
};

/// "model.n_embd 64 -> 128", …: options that two runs' training does not share, but for the seed. Empty: they are seeds
/// of one config.
std::vector<std::string> differences_but_for_seed(const ResolvedConfig& a, const ResolvedConfig& b);

/// Runs of equal configs but for the seed become seeds of one ConfigRuns, named by the config, or by the run where it
/// is alone; the second run of one seed begins another. All come out with as many seeds: those that every config has,
/// or else as many as the config with the fewest, in order. A line in `remarks` says which runs are one config's, and
/// which are left out.
std::vector<ConfigRuns> group_by_config(std::vector<TrainedRun> runs, std::vector<std::string>& remarks);

}  // namespace chargpt
