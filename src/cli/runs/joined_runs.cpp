#include "cli/runs/joined_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "cli/runs/figures.h"
#include "evaluate/split_loss.h"
#include "report/format.h"
#include "report/log.h"
#include "run/run_name.h"

namespace chargpt {

namespace {

/// "'é' (U+00E9) is a symbol of a alone"; empty where the vocabularies are equal.
std::string vocabulary_difference(const std::string& name, const Vocabulary& one, const std::string& other_name,
                                  const Vocabulary& other) {
  if (one == other) return "";
  if (one.units() != other.units())
    return name + " has " + std::string(enum_name(one.units())) + " and " + other_name + " " +
           std::string(enum_name(other.units()));
  for (const auto& [own, its, owner] : {std::tuple(&one, &other, &name), std::tuple(&other, &one, &other_name)})
    if (const std::vector<std::string> characters = characters_only_in(*own, *its); !characters.empty())
      return characters.front() + " is a symbol of " + *owner + " alone";
  return "the text of " + (one.document() >= 0 ? name : other_name) + " alone has documents";
}

void refuse_other_symbols(const std::vector<std::string>& names, std::size_t i, const LoadedRun& first,
                          const LoadedRun& other) {
  const std::string difference =
      vocabulary_difference(names[0], first.checkpoint.vocabulary, names[i], other.checkpoint.vocabulary);
  if (!difference.empty())
    throw Error(ExitCode::data, names[0], " and ", names[i], " have different vocabularies (", difference,
                "); runs of one vocabulary can be averaged: train them on one text");
}

constexpr const char* runs_help =
    "run folder, or one checkpoint folder in it; several are one model, the mean of their probabilities (default: the "
    "newest in runs/)";

}  // namespace

Option& add_runs_argument(Options& options, std::vector<std::string>& runs) {
  options.before_run([&runs] {
    if (runs.empty()) runs.push_back(run_left_out());
  });
  return options.add("RUN", runs, runs_help).stands_for(run_meant);
}

Option& add_runs_argument(Options& options, std::vector<std::string>& runs, std::string& rest,
                          bool (*is_rest)(const std::string& word, bool alone)) {
  options.before_run([&runs, &rest, is_rest] {
    if (!runs.empty() && is_rest(runs.back(), runs.size() == 1)) {
      rest = runs.back();
      runs.pop_back();
    }
    std::ranges::transform(runs, runs.begin(), run_meant);
    if (runs.empty()) runs.push_back(run_left_out());
  });
  return options.add("RUN", runs, runs_help);
}

void add_learn_weights_option(Options& options, bool& learn_weights) {
  options.flag("--learn-weights", learn_weights,
               "of several runs: instead of equally, weigh them by the loss of their mean on the end of the train "
               "split, which favours those that know it by heart");
}

LoadedRun load_runs(const std::vector<std::string>& runs, const ModelArguments& arguments, bool learn_weights) {
  if (learn_weights && runs.size() == 1)
    throw Error(ExitCode::usage, "--learn-weights is for several runs, and there is one; leave it out, or name more");
  LoadedRun first = load_run(runs.front(), arguments.checkpoint, arguments.use);
  if (runs.size() == 1) return first;
  std::vector<LoadedRun> others;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    others.push_back(load_run(runs[i], arguments.checkpoint, arguments.use));
    refuse_other_symbols(runs, i, first, others.back());
  }
  const bool alike = std::ranges::all_of(
      others, [&](const LoadedRun& other) { return other.model->block_size() == first.model->block_size(); });
  first.join(std::move(others));
  if (!alike)
    log_note("the runs' windows differ: texts are scored in the shortest, of ", first.block_size(),
             "; in writing each run sees its own");
  return first;
}

KnownText known_text(const Checkpoint& checkpoint) {
  return {checkpoint.config.config.data, checkpoint.vocabulary, checkpoint.state.data};
}

std::string text_difference(const std::string& name, const KnownText& run, const std::string& other_name,
                            const KnownText& other) {
  const std::string difference = text_difference(run, other);
  return difference.empty() ? "" : name + " and " + other_name + " differ in their text (" + difference + ")";
}

std::string text_difference(LoadedRun& run, const std::vector<std::string>& names) {
  std::string difference;
  for (std::size_t i = 0; i < run.others().size() && difference.empty(); ++i)
    difference =
        text_difference(names[0], known_text(run.checkpoint), names[i + 1], known_text(run.others()[i].checkpoint));
  return difference;
}

void check_one_text(LoadedRun& run, const std::vector<std::string>& names, const std::string& instead) {
  if (const std::string difference = text_difference(run, names); !difference.empty())
    throw Error(ExitCode::usage, difference, instead);
}

std::int64_t learn_weights(LoadedRun& run, const std::vector<std::string>& names, TokenView train,
                           const Heartbeat& heartbeat) {
  constexpr std::int64_t least_tokens = 500, most_tokens = 100'000;
  const std::int64_t tokens = std::min(train.size() / 20, most_tokens);
  if (tokens < least_tokens) {
    log_note("the training text is too short to learn the runs' weights; all weigh the same");
    return 0;
  }
  const TokenView end = train.slice(train.size() - tokens, tokens);
  std::vector<std::vector<float>> losses;
  for (LoadedRun* member : run.members())
    losses.push_back(split_loss(member->network(), end, run.block_size(), 0, heartbeat).losses);
  run.weigh(ensemble_weights(losses));
  std::vector<std::string> each;
  for (std::size_t i = 0; i < names.size(); ++i) each.push_back(names[i] + " " + format_fixed(run.weights()[i], 3));
  log_note("weights, learned on the last ", format_count(tokens), " ", unit_word(run.checkpoint.vocabulary.units()),
           "s of the train split: ", joined(each, ", "));
  return tokens;
}

void add_checkpoints(nlohmann::ordered_json& json, LoadedRun& run, const std::vector<std::string>& names) {
  const std::vector<LoadedRun*> members = run.members();
  if (members.size() == 1) {
    json["checkpoint"] = checkpoint_json(run);
    return;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    nlohmann::ordered_json& member = json["members"][i];
    member["run"] = names[i];
    member["weight"] = run.weights()[i];
    member["checkpoint"] = checkpoint_json(*members[i]);
  }
}

}  // namespace chargpt
