// Several runs as one: the mean of their probabilities (predict/ensemble.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "cli/runs/loaded_run.h"
#include "text/text_place.h"

namespace chargpt {

/// RUN… of a command that takes several as one. Left out, they become the newest in runs/, which a line names.
Option& add_runs_argument(Options& options, std::vector<std::string>& runs);
/// The same before another argument, declared next: `rest` takes the last word where `is_rest` says so of it; `alone`:
/// it is the only one.
Option& add_runs_argument(Options& options, std::vector<std::string>& runs, std::string& rest,
                          bool (*is_rest)(const std::string& word, bool alone));
void add_learn_weights_option(Options& options, bool& learn_weights);

/// The first run, which speaks for all where they differ, joined by the others; a line says where they have different
/// windows. Errors: as load_run; data where their symbols differ, naming the first that does; usage for weights of one
/// run.
LoadedRun load_runs(const std::vector<std::string>& runs, const ModelArguments& arguments, bool learn_weights);

/// "a and b differ in their text (data.val_fraction 0.1 -> 0.2)"; empty where all runs were trained on one text, in the
/// same units and split.
std::string text_difference(LoadedRun& run, const std::vector<std::string>& names);
/// Error usage where they were not: the difference, and `instead`, what follows from it.
void check_one_text(LoadedRun& run, const std::vector<std::string>& names, const std::string& instead);
/// The same difference of two runs by their names.
std::string text_difference(const std::string& name, const KnownText& run, const std::string& other_name,
                            const KnownText& other);
/// What a checkpoint was trained on, which must outlive the result.
KnownText known_text(const Checkpoint& checkpoint);

/// Weighs the runs by the loss of their mean on the last twentieth of `train`, 100,000 tokens at most, and tells the
/// weights in a line; equal ones below 500 tokens. Returns how many tokens they were learned on.
std::int64_t learn_weights(LoadedRun& run, const std::vector<std::string>& names, TokenView train,
                           const Heartbeat& heartbeat);

/// "checkpoint" of --json (checkpoint_json); of several runs "members", to each of which its name, weight and
/// checkpoint are added.
void add_checkpoints(nlohmann::ordered_json& json, LoadedRun& run, const std::vector<std::string>& names);

}  // namespace chargpt
