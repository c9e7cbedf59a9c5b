// A comparison before it is scored: every config with every seed, each in a folder of its own, and the one text that
// all train on. Independent of the command line; trains nothing (runs.h does).
//
// Seed k is the first config's train.seed + k, for every config: configs of equal batch_size and block_size see the
// same windows in the same order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compare/runs.h"
#include "compare/variants.h"
#include "text/corpus.h"

namespace chargpt {

/// Seed by seed, all configs with the first seed first, in OUT/<config>-seed<seed>. Under max_seconds runs of later
/// seeds replay the shares of time of the config's first.
std::vector<PlannedRun> planned_runs(const std::vector<Variant>& variants, std::int64_t seeds,
                                     const std::filesystem::path& out);

/// Error usage for several jobs beside max_seconds: a machine that is shared makes fewer steps in the same seconds, and
/// not equally fewer.
void check_jobs(const std::vector<Variant>& variants, std::int64_t jobs);

/// The text that all configs train on: where the config names it, or where a run in `out` keeps it. Error usage where
/// the configs' texts, units or splits differ, or a model does not fit; else as load_corpus.
Corpus common_text(const std::vector<Variant>& variants, const std::filesystem::path& out,
                   const ReadingProgress& reading);

/// Error usage unless the evaluations of every config score the whole validation split, as a target needs.
void check_target(const std::vector<Variant>& variants, const Corpus& corpus);

/// "not trained alike: a 1.20M tokens in 100 steps, b …", with what makes them equal; empty where they are.
/// `train_tokens`: of the train split, for lengths in epochs. Error usage as steps_of_epochs.
std::string length_difference(const std::vector<Variant>& variants, std::int64_t train_tokens);

}  // namespace chargpt
