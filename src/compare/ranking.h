// What several configs, each trained with the same seeds on the same text, say about each other: means, intervals and
// ranks by their losses, or (`--target`) by when each first had a loss at or under a target; and runs that were trained
// before, sorted into configs and seeds so that they can be ranked. Trains and scores nothing, and knows no tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "config/load.h"
#include "evaluate/paired.h"
#include "report/events.h"

namespace chargpt {

/// Which weights of a run were scored. end: those it ended with, averaged where train.ema averages; nothing was chosen
/// by the split they are scored on. best: those of its lowest validation loss, which flatters runs that were evaluated
/// often. named: those of a checkpoint that was named.
CHARGPT_ENUM(ScoredAt, end, best, named);

/// The first evaluation that found a loss at or under a target.
struct ReachedTarget {
  std::int64_t step = 0;
  double seconds = 0;
};

/// One config trained with one seed, scored on the whole validation split.
struct SeedRun {
  std::int64_t seed = 0;
  double loss = 0;  ///< nats per token
  double seconds = 0;
  double tokens_per_second = 0;  ///< while it trained: without start-up, evaluations and saves
  std::int64_t step = 0;         ///< of the weights scored
  std::int64_t steps = 0;        ///< of the whole run; 0 for one that failed
  Ending ended = Ending::unknown;
  ScoredAt scored = ScoredAt::end;
  double lowest_loss = std::numeric_limits<double>::infinity();  ///< of the run's evaluations; infinite where not known
  std::int64_t lowest_step = 0;                                  ///< of that evaluation
  std::int64_t jobs = 1;  ///< trainings that shared the machine; more than one: times compare with nothing
  std::filesystem::path run = {};
  std::optional<Error> failure = {};          ///< of a run without a loss: what went wrong
  std::vector<float> losses = {};             ///< of every token, in the order of the text
  std::optional<double> test_loss = {};       ///< of the best checkpoint, where a test split is held out
  std::optional<ReachedTarget> reached = {};  ///< where the comparison has a target
};

/// One config with all its seeds.
struct ConfigRuns {
  std::string config;
  std::int64_t params = 0, block_size = 0;
  bool leaks = false;  ///< it sees its own targets: listed, never ranked
  std::vector<SeedRun> seeds = {};
};

/// One of its seeds has no loss.
bool failed(const ConfigRuns& runs);

/// Of each seed, every token's.
std::vector<std::vector<float>> losses_of(const ConfigRuns& runs);

struct ConfigResult {
  ConfigRuns runs;
  MeanEstimate mean;                        ///< of this config alone; NaN where a seed failed
  std::int64_t rank = 0;                    ///< 1 is the lowest mean; 0: not ranked (leaks, or a seed failed)
  std::optional<MeanEstimate> versus_best;  ///< its loss minus that of rank 1, paired, at 95 % for all pairs together;
                                            ///< absent for rank 1 and where rank is 0
};

/// False for one that leaks, or of which a seed failed.
bool can_be_ranked(const ConfigResult& result);

struct Comparison {
  std::vector<ConfigResult> results = {};  ///< by rank, then those without one in the order they were given
  std::int64_t tokens = 0;                 ///< scored by each run
  std::int64_t pairs = 0;                  ///< of ranked configs
  std::vector<std::string> notes = {};     ///< what else a reader of the table must know
  std::optional<double> target = {};       ///< loss whose time is asked for
  bool trained_before = false;             ///< runs scored at their best checkpoints, not trained by this comparison
  bool complete = true;                    ///< false: stopped before every run had ended, and then there are no results
};

/// Every config must have the same seeds in the same order, and losses of the same tokens. The best is chosen by these
/// very losses, so each comparison with it is corrected for all pairs that there are (see evaluate/paired.h): of
/// configs that are equal, at most 5 % of comparisons call any better than another. `text`: the validation split, so
/// that tenths hold whole documents.
Comparison rank_configs(std::vector<ConfigRuns> configs, const TokenView& text = {});

/// The first evaluation of a run at or under the target, by its metrics.jsonl. A loss is known only where it is
/// evaluated: a finer eval.eval_interval finds it sooner. Errors: usage for evaluations that are estimates, data for
/// malformed lines.
std::optional<ReachedTarget> reached_by(const SeedRun& run, double target);

/// Sets `target`, and `reached` of every run. Errors as above.
void find_target(Comparison& comparison, double target);

/// Over all seeds of a config.
struct MeanReached {
  double steps = 0, seconds = 0;
};
/// None where a seed did not reach it: the mean of those that did would flatter.
std::optional<MeanReached> mean_reached(const ConfigRuns& runs);

/// A run and its score on the text that all are scored on.
struct TrainedRun {
  std::string name;  ///< as it was given
  ResolvedConfig config;
  std::int64_t params = 0;
  bool leaks = false;
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
