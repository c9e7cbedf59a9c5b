// `compare`: trains every config with every seed on the same text, scores each exactly on the whole validation split,
// ranks them. Knows no command line and never prints; trains nothing itself: runs are children (runs.h).
//
// Seed k is the first config's train.seed + k, for every config: configs of equal batch_size and block_size see the
// same windows in the same order. The weights scored are those that a run ended with, averaged ones where train.ema
// averages. A comparison that was broken off goes on when it is started again with the same folder: runs that ended are
// reused, one that was under way is resumed. A folder that holds another run is refused, never overwritten.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/ranking.h"
#include "compare/runs.h"
#include "config/load.h"
#include "text/corpus.h"

namespace chargpt {

struct CompareOptions {
  std::int64_t seeds = 1;
  std::filesystem::path out;     ///< OUT/<config>-seed<seed>/ for each run, OUT/compare.json at the end
  std::optional<double> target;  ///< loss whose time is looked up in the runs' metrics
  std::int64_t jobs = 1;         ///< children at once; more than one excludes every length in seconds
  const std::atomic<bool>* stop = nullptr;
};

struct CompareHooks {
  /// Starts a child that calls train_planned() for this run, on the text of `corpus`. Required.
  std::function<std::unique_ptr<ChildProcess>(const PlannedRun&, const Corpus& corpus)> start;
  std::function<void(const PlannedRun&, const SeedRun&, bool reused)> after_run = [](const auto&...) {};
  std::function<void(const std::string& line)> notice = [](const auto&...) {};
  /// Once it is read: what the runs are trained and scored on.
  std::function<void(const Corpus&)> text = [](const auto&...) {};
  ReadingProgress reading;  ///< of the text
  RunsHooks runs;           ///< row, watched, said
};

/// Runs seed by seed, all configs with the first seed first. Stopped, it returns with `complete` false; what has been
/// trained stays. A run that fails alone (RunsHooks::failed) is listed, and the others go on.
/// Errors, before anything is trained: usage for jobs beside a length in seconds, a target beside evaluations that are
/// estimates, configs whose texts, units or splits differ, a bad model; those of run_all().
Comparison compare(std::vector<ResolvedConfig> configs, const CompareOptions& options, const CompareHooks& hooks);

/// "configs differ in length: a 1.20M tokens in 100 steps, b …", with what makes them equal; empty where they do not.
/// `train_tokens`: of the train split, for lengths in epochs. Error usage as steps_of_epochs.
std::string length_difference(const std::vector<ResolvedConfig>& configs, const std::vector<std::string>& names,
                              std::int64_t train_tokens);

}  // namespace chargpt
