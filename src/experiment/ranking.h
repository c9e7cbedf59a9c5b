// What several configs, each trained with the same seeds on the same text, say about each other: means, intervals and
// ranks. Pure functions over losses; trains nothing and knows no tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "evaluate/paired.h"
#include "report/events.h"

namespace chargpt {

/// Which weights of a run were scored. end: those it ended with, averaged where train.ema averages; nothing was chosen
/// by the split they are scored on. best: those of its lowest validation loss, as earlier programs scored; the lowest
/// of many flatters.
CHARGPT_ENUM(ScoredAt, end, best);

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
  double tokens_per_second = 0;  ///< median over the steps
  std::int64_t step = 0;         ///< of the weights scored
  std::int64_t steps = 0;        ///< of the whole run; 0: not known
  Ending ended = Ending::unknown;
  ScoredAt scored = ScoredAt::end;
  double lowest_loss = std::numeric_limits<double>::infinity();  ///< of the run's evaluations; infinite where not known
  std::int64_t lowest_step = 0;                                  ///< of that evaluation
  std::int64_t jobs = 1;  ///< trainings that shared the machine; more than one: times compare with nothing
  std::filesystem::path run = {};
  std::string failure = {};                   ///< why there is no loss (training diverged); empty where there is one
  ExitCode failure_code = ExitCode::ok;       ///< of that: but for diverged, training again may well succeed
  std::vector<float> losses = {};             ///< of every token, in the order of the text
  std::optional<double> test_loss = {};       ///< of the best checkpoint, where a test split is held out
  std::int64_t test_scores = 0;               ///< how often the run's test split has been scored by now
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
  bool ended_at_target = false;            ///< runs ended there: listed by steps to it, none ranked by its loss
  bool within_train_split = false;         ///< scored on a part of the train split that none was trained on
  bool trained_before = false;             ///< runs scored at their best checkpoints, not trained by this comparison
  bool complete = true;                    ///< false: stopped before every run had ended, and then there are no results
};

/// Every config must have the same seeds in the same order, and losses of the same tokens. The best is chosen by these
/// very losses, so each comparison with it is corrected for all pairs that there are (see evaluate/paired.h): of
/// configs that are equal, at most 5 % of comparisons call any better than another. `text`: the validation split, so
/// that tenths hold whole documents.
Comparison rank_configs(std::vector<ConfigRuns> configs, const TokenView& text = {});

}  // namespace chargpt
