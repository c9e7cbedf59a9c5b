#include "experiment/trained_runs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"
#include "config/changed_options.h"
#include "train/conditions.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

/// Runs of one config, each of another seed, in order of the seeds.
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

/// Takes all but the common seeds, or all but the first ones, out of every group: only as many as all have pair.
void keep_what_pairs(std::vector<Group>& groups, std::vector<std::string>& remarks) {
  const std::set<std::int64_t> common = common_seeds(groups);
  std::size_t fewest = groups.front().size();
  for (const Group& group : groups) fewest = std::min(fewest, group.size());
  std::vector<std::string> left_out;
  for (Group& group : groups) {
    Group kept;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const bool pairs = common.empty() ? i < fewest : common.contains(group[i].seed.seed);
      if (pairs)
        kept.push_back(std::move(group[i]));
      else
        left_out.push_back(group[i].name);
    }
    group = std::move(kept);
  }
  if (!left_out.empty())
    remarks.push_back("left out, since runs are compared seed by seed and not every config has theirs: " +
                      joined(left_out, ", "));
  if (common.empty()) remarks.emplace_back("the runs have no seed in common: they are paired in order of their seeds");
}

/// The config's, where several runs are its seeds and no other group has that name.
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

}  // namespace

std::vector<std::string> differences_but_for_seed(const ResolvedConfig& a, const ResolvedConfig& b) {
  std::vector<std::string> lines = changed_training(a.config, b.config);
  leave_out(lines, {"train.seed"});
  if (length_set_by(a) != "train.max_iters" && length_set_by(b) != "train.max_iters")
    leave_out(lines, {"train.max_iters", "train.decay_steps"});
  if (limits_evaluations(a) || limits_evaluations(b)) leave_out(lines, {"eval.eval_iters"});
  return lines;
}

std::vector<ConfigRuns> group_by_config(std::vector<TrainedRun> runs, std::vector<std::string>& remarks) {
  std::vector<Group> groups = groups_of(std::move(runs));
  keep_what_pairs(groups, remarks);
  std::set<std::string> taken;
  std::vector<ConfigRuns> configs;
  for (Group& group : groups) {
    const TrainedRun& first = group.front();
    ConfigRuns config{.config = name_of(group, taken),
                      .params = first.params,
                      .block_size = first.config.config.model.block_size,
                      .leaks = first.leaks};
    if (group.size() > 1) remarks.push_back(members(config.config, group));
    for (TrainedRun& run : group) config.seeds.push_back(std::move(run.seed));
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace chargpt
