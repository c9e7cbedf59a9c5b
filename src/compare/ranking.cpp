#include "compare/ranking.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "config/describe.h"
#include "report/files/metrics.h"
#include "train/conditions.h"

namespace chargpt {
namespace {

/// Nats per token of an evaluation, the better of trained and averaged weights. Throws Error usage for an estimate.
double whole_split_loss(const nlohmann::ordered_json& evaluation) {
  if (evaluation.contains("exact") && evaluation["exact"] != true)
    throw Error(ExitCode::usage,
                "--target needs evaluations of the whole split, but this run evaluated only a part of it; train by "
                "steps and set eval.eval_iters so that each evaluation scores the whole split");
  return std::fmin(number_in(evaluation, "val_loss"), number_in(evaluation, "averaged_val_loss"));
}

void find_reached(SeedRun& run, double target) {
  const auto begin = [&run] {
    run.reached.reset();
    run.evaluated = false;
  };
  MetricsReader reader(run.run / "metrics.jsonl");
  reader.read(begin, [&](const nlohmann::ordered_json& row) {
    const double step = number_in(row, "step");
    if (row["kind"] != "eval" || !(step >= 0)) return;
    run.evaluated = true;
    if (!run.reached && whole_split_loss(row) <= target)
      run.reached = {.step = static_cast<std::int64_t>(step), .seconds = number_in(row, "seconds")};
  });
  if (const std::string line = reader.complaint(); !line.empty()) throw Error(ExitCode::data, line);
}

/// Runs of one config with different seeds, sorted by seed.
using Group = std::vector<TrainedRun>;

bool has_seed(const Group& group, std::int64_t seed) {
  return std::ranges::any_of(group, [seed](const TrainedRun& run) { return run.seed.seed == seed; });
}

std::vector<Group> groups_of(std::vector<TrainedRun> runs) {
  std::vector<Group> groups;
  for (TrainedRun& run : runs) {
    const auto home = std::ranges::find_if(groups, [&run](const Group& group) {
      return differences_but_for_seed(group.front().config, run.config).empty() && !has_seed(group, run.seed.seed);
    });
    (home == groups.end() ? groups.emplace_back() : *home).push_back(std::move(run));
  }
  for (Group& group : groups) std::ranges::sort(group, {}, [](const TrainedRun& run) { return run.seed.seed; });
  return groups;
}

std::set<std::int64_t> common_seeds(const std::vector<Group>& groups) {
  std::set<std::int64_t> common;
  for (const TrainedRun& run : groups.front())
    if (std::ranges::all_of(groups, [&run](const Group& group) { return has_seed(group, run.seed.seed); }))
      common.insert(run.seed.seed);
  return common;
}

/// Keeps the common seeds of every group or, without any, the first ones: all groups then have equally many.
void keep_what_pairs(std::vector<Group>& groups, std::vector<std::string>& remarks) {
  const std::set<std::int64_t> common = common_seeds(groups);
  const auto is_common = [&common](const TrainedRun& run) { return common.contains(run.seed.seed); };
  const std::ptrdiff_t fewest = std::ssize(*std::ranges::min_element(groups, {}, &Group::size));
  std::vector<std::string> left_out;
  for (Group& group : groups) {
    const auto others =
        common.empty() ? group.begin() + fewest : std::stable_partition(group.begin(), group.end(), is_common);
    for (auto run = others; run != group.end(); ++run) left_out.push_back(run->name);
    group.erase(others, group.end());
  }
  if (!left_out.empty())
    remarks.push_back("left out, because not every config has a run with the same seed: " + joined(left_out, ", "));
  if (common.empty()) remarks.emplace_back("no seed is common to all runs: they are paired in order of their seeds");
}

/// The config's name if the group has several runs and the name is free, else that of the run.
std::string name_of(const Group& group, std::set<std::string>& taken) {
  const std::string& config = group.front().config.config.name;
  if (group.size() > 1 && taken.insert(config).second) return config;
  return group.front().name;
}

/// "default: runs/a (seed 1), runs/b (seed 2)"
std::string members(const std::string& name, const Group& group) {
  std::vector<std::string> runs;
  for (const TrainedRun& run : group) runs.push_back(run.name + " (seed " + std::to_string(run.seed.seed) + ")");
  return name + ": " + joined(runs, ", ");
}

/// Losses of each seed by the value of a varied option: means over the configs with that value.
using LossesByLevel = std::map<std::string, std::vector<double>>;

LossesByLevel losses_by_level(const std::vector<ConfigRuns>& results, std::size_t option) {
  LossesByLevel means;
  std::map<std::string, double> configs;
  for (const ConfigRuns& runs : results) {
    const std::string& level = runs.levels[option];
    std::vector<double>& mean = means.try_emplace(level, runs.seeds.size()).first->second;
    const double count = ++configs[level];
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += (runs.seeds[k].loss - mean[k]) / count;
  }
  return means;
}

std::vector<LevelMean> effect_of(const LossesByLevel& losses, std::int64_t pairs) {
  std::vector<LevelMean> effect;
  for (const auto& [level, of_seeds] : losses) effect.push_back({level, mean_of_seeds(of_seeds).mean});
  std::ranges::sort(effect, {}, &LevelMean::mean);
  const std::vector<double>& best = losses.at(effect.front().level);
  for (std::size_t i = 1; i < effect.size(); ++i)
    effect[i].versus_best = paired_difference(losses.at(effect[i].level), best, pairs);
  return effect;
}

/// Empty if fewer than two options vary or a config cannot be ranked.
std::vector<std::vector<LevelMean>> main_effects(const std::vector<ConfigRuns>& results) {
  const std::size_t options = results.empty() ? 0 : results.front().levels.size();
  if (options < 2 || !std::ranges::all_of(results, can_be_ranked)) return {};
  std::vector<LossesByLevel> losses;
  std::int64_t pairs = 0;  // of values of one option
  for (std::size_t option = 0; option < options; ++option) {
    losses.push_back(losses_by_level(results, option));
    pairs += std::ssize(losses.back()) * (std::ssize(losses.back()) - 1) / 2;
  }
  std::vector<std::vector<LevelMean>> effects;
  for (const LossesByLevel& of_option : losses) effects.push_back(effect_of(of_option, pairs));
  return effects;
}

}  // namespace

std::vector<double> losses_of(const ConfigRuns& runs) {
  std::vector<double> losses;
  for (const SeedRun& run : runs.seeds) losses.push_back(run.loss);
  return losses;
}

bool can_be_ranked(const ConfigRuns& runs) {
  return !runs.leaks() && std::isfinite(runs.mean.mean);
}

Comparison rank_configs(std::vector<ConfigRuns> configs) {
  Comparison comparison{.results = std::move(configs)};
  std::vector<ConfigRuns>& results = comparison.results;
  for (ConfigRuns& runs : results) runs.mean = mean_of_seeds(losses_of(runs));
  const auto end_of_ranked = std::stable_partition(results.begin(), results.end(), can_be_ranked);
  std::stable_sort(results.begin(), end_of_ranked,
                   [](const ConfigRuns& a, const ConfigRuns& b) { return a.mean.mean < b.mean.mean; });
  const std::int64_t ranked = end_of_ranked - results.begin();
  comparison.pairs = ranked * (ranked - 1) / 2;
  for (auto result = results.begin(); result != end_of_ranked; ++result) {
    result->rank = result - results.begin() + 1;
    if (result->rank > 1)
      result->versus_best = paired_difference(losses_of(*result), losses_of(results[0]), comparison.pairs);
  }
  comparison.effects = main_effects(results);
  return comparison;
}

void find_target(Comparison& comparison, double target) {
  comparison.target = target;
  for (ConfigRuns& result : comparison.results)
    for (SeedRun& run : result.seeds)
      if (!run.failed()) find_reached(run, target);
}

std::vector<std::string> differences_but_for_seed(const ResolvedConfig& a, const ResolvedConfig& b) {
  Config other = b.config;
  other.train.seed = a.config.train.seed;
  return changed_training(a.config, other);
}

std::vector<ConfigRuns> group_by_config(std::vector<TrainedRun> runs, std::vector<std::string>& remarks) {
  std::vector<Group> groups = groups_of(std::move(runs));
  keep_what_pairs(groups, remarks);
  std::set<std::string> taken;
  std::vector<ConfigRuns> configs;
  for (Group& group : groups) {
    const TrainedRun& first = group.front();
    ConfigRuns config{.config = name_of(group, taken), .options = first.config.config, .params = first.params};
    if (group.size() > 1) remarks.push_back(members(config.config, group));
    for (TrainedRun& run : group) config.seeds.push_back(std::move(run.seed));
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace chargpt
