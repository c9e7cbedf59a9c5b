// Runs that were trained before, sorted into configs and seeds so that they can be ranked. Pure functions; loads and
// scores nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/load.h"
#include "experiment/ranking.h"

namespace chargpt {

/// A run and its score on the text that all are scored on.
struct TrainedRun {
  std::string name;  ///< as it was given
  ResolvedConfig config;
  std::int64_t params = 0;
  bool leaks = false;
  SeedRun seed;
};

/// "model.n_embd 64 -> 128", …: options that two runs' training does not share, but for the seed; a length that
/// seconds or epochs settled is compared as it was asked for. Empty: they are seeds of one config.
std::vector<std::string> differences_but_for_seed(const ResolvedConfig& a, const ResolvedConfig& b);

/// Runs of equal configs but for the seed become seeds of one ConfigRuns, named by the config, or by the run where it
/// is alone; the second run of one seed begins another. All come out with as many seeds: those that every config has,
/// or else as many as the config with the fewest, in order. A line in `remarks` says which runs are one config's, and
/// which are left out.
std::vector<ConfigRuns> group_by_config(std::vector<TrainedRun> runs, std::vector<std::string>& remarks);

}  // namespace chargpt
