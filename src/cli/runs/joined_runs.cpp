#include "cli/runs/joined_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "cli/runs/figures.h"
#include "network/model_types.h"
#include "report/format.h"
#include "report/log.h"
#include "run/run_folder.h"
#include "run/run_name.h"

namespace chargpt {

JoinedRuns::JoinedRuns(const JoinedArguments& arguments) {
  for (const std::string& name : arguments.runs) {
    runs_.push_back(load_run(name, arguments.checkpoint, arguments.use));
    if (first().checkpoint.vocabulary != runs_.back().checkpoint.vocabulary)
      throw Error(ExitCode::data, first().name, " and ", name,
                  " have different vocabularies; runs of one vocabulary can be averaged: train them on one text");
  }
  std::vector<Predictor*> networks;
  for (const LoadedRun& run : runs_) networks.push_back(run.network.get());
  trained_ = networks_ = mean_of(networks);
}

Predictor* JoinedRuns::mean_of(const std::vector<Predictor*>& predictors) {
  if (predictors.size() == 1) return predictors.front();
  return owned_.emplace_back(std::make_unique<Ensemble>(predictors)).get();
}

bool JoinedRuns::leaks() const {
  return std::ranges::any_of(runs_, [](const LoadedRun& run) { return chargpt::leaks(run.config().model); });
}

std::int64_t JoinedRuns::context() const {
  std::int64_t longest = mixture_ ? Counts::reach : 0;
  for (const LoadedRun& run : runs_) longest = std::max(longest, run.model->block_size());
  return longest;
}

void JoinedRuns::adapt(const Adaptation& adaptation) {
  std::vector<Predictor*> adaptive;
  for (const LoadedRun& run : runs_)
    adaptive.push_back(
        owned_.emplace_back(std::make_unique<AdaptiveNetwork>(*run.model, first().network->threads(), adaptation))
            .get());
  networks_ = mean_of(adaptive);
}

void JoinedRuns::mix_with_counts(const Corpus& corpus, const Heartbeat& heartbeat) {
  const Vocabulary& vocabulary = first().checkpoint.vocabulary;
  mixture_ = std::make_unique<Mixture>(*networks_, first().network->threads(), vocabulary, corpus.train(), heartbeat);
  if (const std::int64_t counted = mixture_->learning().counted; counted < corpus.train().size())
    log_note("counted the last ", format_count(counted), " of ", tokens_text(corpus.train().size(), vocabulary.units()),
             " of the training text");
}

void refuse_twice(const std::vector<std::string>& runs) {
  std::set<std::filesystem::path> seen;
  for (const std::string& given : runs) {
    const std::filesystem::path run = run_of(given);
    std::error_code ignored;
    if (!seen.insert(std::filesystem::weakly_canonical(run.empty() ? std::filesystem::path(given) : run, ignored))
             .second)
      throw Error(ExitCode::usage, given, " names a run that was already given; list each run once");
  }
}

std::string text_difference(const JoinedRuns& runs) {
  const LoadedRun& first = runs.first();
  for (const LoadedRun& other : runs.all())
    if (const std::string difference = text_difference(first.name, first.checkpoint, other.name, other.checkpoint);
        !difference.empty())
      return difference;
  return "";
}

void refuse_counts(const JoinedRuns& runs) {
  for (const LoadedRun& run : runs.all())
    if (run.folder.empty())
      throw Error(ExitCode::usage, "--counts needs the training text, but ", run.checkpoint.path,
                  " is a checkpoint outside a run, which has none; use the run's folder, or remove --counts");
  if (const std::string difference = text_difference(runs); !difference.empty())
    throw Error(ExitCode::usage, difference, ", so they have no common training split; remove --counts");
}

void add_checkpoints(nlohmann::ordered_json& json, const JoinedRuns& runs) {
  if (!runs.are_several()) {
    json["checkpoint"] = checkpoint_json(runs.first());
    return;
  }
  for (std::size_t i = 0; const LoadedRun& run : runs.all())
    json["members"][i++].update({{"run", run.name}, {"checkpoint", checkpoint_json(run)}});
}

Option& add_runs_argument(Options& options, std::vector<std::string>& runs, std::string* rest,
                          bool (*is_rest)(const std::string& word, bool alone)) {
  options.before_run([&runs, rest, is_rest] {
    if (rest != nullptr && !runs.empty() && is_rest(runs.back(), runs.size() == 1)) {
      *rest = runs.back();
      runs.pop_back();
    }
    std::ranges::transform(runs, runs.begin(), run_meant);
    if (runs.empty()) runs.push_back(run_left_out());
  });
  return options.add("RUN", runs,
                     "run folder, or one checkpoint file; several act as one model, the mean of their probabilities "
                     "(default: the newest in runs/)");
}

}  // namespace chargpt
