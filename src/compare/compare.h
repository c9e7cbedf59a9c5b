// Plans a comparison: one run folder per config and seed, and the text that all runs train on. Independent of the
// command line. Training is in runs.h.
//
// Seed k is train.seed of the first config + k, for every config. Configs with the same batch_size and block_size thus
// see the same windows in the same order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "compare/runs.h"
#include "compare/variants.h"
#include "text/corpus.h"

namespace chargpt {

/// Returns the runs seed by seed: first all configs with the first seed. Folders: OUT/<config>-seed<seed>. Under
/// max_seconds, runs of later seeds replay the time shares of the config's first run.
std::vector<PlannedRun> planned_runs(const std::vector<Variant>& variants, std::int64_t seeds,
                                     const std::filesystem::path& out);

/// Throws Error usage if jobs > 1 and a config sets max_seconds: runs that share a machine would complete different
/// numbers of steps.
void check_jobs(const std::vector<Variant>& variants, std::int64_t jobs);

/// Loads the text of all configs: from the path in the config, else from a run in `out` that kept it. Throws Error
/// usage if texts, units or splits differ or a model does not fit the text; other errors as load_corpus().
Corpus common_text(const std::vector<Variant>& variants, const std::filesystem::path& out, const Heartbeat& heartbeat);

/// Throws Error usage unless every config evaluates on the whole validation split, which --target needs.
void check_target(const std::vector<Variant>& variants, const Corpus& corpus);

}  // namespace chargpt
