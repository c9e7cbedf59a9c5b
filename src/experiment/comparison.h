// What several configs, each trained with the same seeds on the same text, say about each other: means, intervals,
// ranks, and how the result reads as JSON and as a table. Pure functions over losses; trains nothing and knows no
// tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/paired.h"
#include "report/table.h"

namespace chargpt {

/// One config trained with one seed, scored on the whole validation split by the weights it kept as best.
struct SeedRun {
  std::int64_t seed = 0;
  double loss = 0;  ///< nats per token
  double seconds = 0;
  double tokens_per_second = 0;  ///< median over the updates
  std::int64_t step = 0;         ///< of the weights scored
  std::int64_t jobs = 1;         ///< trainings that shared the machine; more than one: times compare with nothing
  std::filesystem::path run = {};
  std::string failure = {};        ///< why there is no loss (training diverged); empty where there is one
  std::vector<float> losses = {};  ///< of every token, in the order of the text
};

/// One config with all its seeds.
struct ConfigRuns {
  std::string config;
  std::int64_t params = 0, block_size = 0;
  bool leaks = false;  ///< it sees its own targets: listed, never ranked
  std::vector<SeedRun> seeds = {};
};

struct ConfigResult {
  ConfigRuns runs;
  MeanEstimate mean;             ///< over seeds and text; NaN where a seed failed
  std::optional<double> spread;  ///< standard deviation over seeds; absent with one
  std::int64_t rank = 0;         ///< 1 is the lowest mean; 0: not ranked (leaks, or a seed failed)
  std::optional<MeanEstimate>
      versus_best;  ///< its loss minus that of rank 1, paired; absent for rank 1 and where rank is 0
};

struct Comparison {
  std::vector<ConfigResult> results = {};  ///< by rank, then those without one in the order they were given
  std::int64_t tokens = 0;                 ///< scored by each run
  bool complete = true;                    ///< false: stopped before every run had ended, and then there are no results
};

/// Every config must have the same seeds in the same order, and losses of the same tokens. The best is chosen by these
/// very losses, so of many configs that are equal one looks better than the rest by luck: p is that of one pair, not of
/// the choice.
Comparison rank_configs(std::vector<ConfigRuns> configs);

/// {"results":[{"config","params","seeds":[{"seed","loss","seconds","tokens_per_second","run"}],"mean","ci95","spread","rank",
/// "versus_best":{"difference","ci95","p","resolvable"}}],…}; figures that are not known are null.
nlohmann::ordered_json to_json(const Comparison& comparison);

/// One row per config.
Table to_table(const Comparison& comparison);

/// What a reader of the table must know: what one seed cannot tell, the smallest difference that could have been
/// resolved, times of runs that shared the machine, runs that diverged, models that leak.
std::vector<std::string> remarks(const Comparison& comparison);

}  // namespace chargpt
