#include "compare/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/format.h"

namespace chargpt {
namespace {

/// None unless every seed has one.
template <class Figure>
std::optional<double> mean_over(const ConfigRuns& runs, Figure SeedRun::*figure) {
  double sum = 0;
  for (const SeedRun& run : runs.seeds) {
    const std::optional<double> of_seed = run.*figure;
    if (!of_seed) return std::nullopt;
    sum += *of_seed;
  }
  return sum / static_cast<double>(runs.seeds.size());
}

/// What the test column holds, if a run has a test split.
std::string test_note(const std::vector<ConfigResult>& results) {
  for (const ConfigResult& result : results)
    for (const SeedRun& run : result.runs.seeds)
      if (run.test_loss) return "test: loss of each run's best checkpoint on the test split";
  return "";
}

template <class Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json interval_json(const std::optional<Interval>& ci95) {
  return ci95 ? nlohmann::ordered_json{ci95->low, ci95->high} : nlohmann::ordered_json();
}

nlohmann::ordered_json seed_json(const SeedRun& run) {
  nlohmann::ordered_json json = {{"seed", run.seed},
                                 {"loss", nullptr},
                                 {"seconds", run.seconds},
                                 {"tokens_per_second", run.tokens_per_second},
                                 {"run", run.run.string()}};
  if (run.jobs > 1) json["jobs"] = run.jobs;
  if (!run.failure) {
    json["loss"] = run.loss;
    json["step"] = run.step;
    json["updates"] = run.steps;
    json["ended"] = enum_name(run.ended);
    json["scored"] = enum_name(run.scored);
    if (run.test_loss) json["test_loss"] = *run.test_loss;
    if (std::isfinite(run.lowest_loss)) json["lowest"] = {{"loss", run.lowest_loss}, {"step", run.lowest_step}};
  } else {
    json["failure"] = run.failure->what();
  }
  return json;
}

/// Tenths of the text in which the second of a difference has the lower loss.
int tenths_above_zero(const MeanEstimate& difference) {
  return static_cast<int>(std::ranges::count_if(difference.tenths, [](double tenth) { return tenth > 0; }));
}

nlohmann::ordered_json result_json(const ConfigResult& result, bool has_target) {
  nlohmann::ordered_json json = {{"config", result.runs.config}, {"params", result.runs.params}};
  json["block_size"] = result.runs.block_size;
  json["seeds"] = nlohmann::ordered_json::array();
  for (const SeedRun& run : result.runs.seeds) {
    json["seeds"].push_back(seed_json(run));
    if (!has_target) continue;
    nlohmann::ordered_json& target = json["seeds"].back()["target"];  // null where the run never came so far
    if (run.reached) target = {{"step", run.reached->step}, {"seconds", run.reached->seconds}};
  }
  json["mean"] = result.mean.mean;
  json["ci95"] = interval_json(result.mean.ci95);
  json["spread"] = or_null(result.mean.deviation);
  json["rank"] = result.rank > 0 ? nlohmann::ordered_json(result.rank) : nlohmann::ordered_json();
  json["versus_best"] = difference_json(result.versus_best);
  if (result.versus_best) {
    json["versus_best"]["ahead_in_tenths"] = tenths_above_zero(*result.versus_best);
    json["versus_best"]["tenths"] = result.versus_best->tenths.size();
  }
  if (const auto test = mean_over(result.runs, &SeedRun::test_loss)) json["test_loss"] = *test;
  if (result.runs.leaks) json["leaks"] = true;
  return json;
}

/// Length of "quick " where every name begins with that word, as variants of one config do; else 0.
std::size_t common_beginning(const std::vector<ConfigResult>& results) {
  if (results.empty()) return 0;
  const std::string& first = results.front().runs.config;
  const std::string beginning = first.substr(0, first.find(' ') + 1);
  const bool all = std::ranges::all_of(
      results, [&](const ConfigResult& result) { return result.runs.config.starts_with(beginning); });
  return all ? beginning.size() : 0;
}

std::string rank_cell(const ConfigResult& result) {
  if (result.rank > 0) return std::to_string(result.rank);
  return result.runs.leaks ? "leaks" : "failed";
}

std::string p_cell(double p) {
  return p < 0.0001 ? "<0.0001" : format_fixed(p, 4);
}

std::int64_t most_jobs(const ConfigRuns& runs) {
  std::int64_t jobs = 1;
  for (const SeedRun& run : runs.seeds) jobs = std::max(jobs, run.jobs);
  return jobs;
}

/// "0.0123 ± 0.0045", half of a 95 % interval, or the first alone.
std::string difference_cell(const MeanEstimate& difference) {
  std::string cell = format_fixed(difference.mean, 4);
  if (difference.ci95) cell += " ± " + format_fixed((difference.ci95->high - difference.ci95->low) / 2, 4);
  return cell;
}

std::string tenths_cell(const MeanEstimate& difference) {
  return std::to_string(tenths_above_zero(difference)) + " of " + std::to_string(difference.tenths.size());
}

std::string seeds_remark(std::size_t seeds) {
  if (seeds == 1) return "no intervals: one seed does not show how much seeds differ";
  return "intervals are over seeds on this text: Student's t over " + std::to_string(seeds) +
         " seeds, paired; to score another text: chargpt eval RUN --text FILE";
}

/// Whether other seeds may well show the opposite sign; false with one seed, where that cannot be said.
bool is_undecided(const MeanEstimate& difference) {
  return difference.ci95 && difference.ci95->low <= 0 && difference.ci95->high >= 0;
}

void add_what_was_scored(std::vector<std::string>& lines, const ConfigRuns& runs) {
  constexpr double clearly = 0.02;
  for (const SeedRun& run : runs.seeds) {
    if (run.failure) continue;
    const std::string name = runs.config + " with seed " + std::to_string(run.seed);
    if (run.scored == ScoredAt::named)
      lines.push_back(name + " is scored at step " + format_count(run.step) + ", the checkpoint that was named");
    if (run.scored == ScoredAt::end && run.lowest_loss < run.loss - clearly)
      lines.push_back(name + " overfitted: " + format_fixed(run.lowest_loss, 4) + " after step " +
                      std::to_string(run.lowest_step) + ", " + format_fixed(run.loss, 4) +
                      " at its end; a shorter run or more dropout is likely to score better");
  }
}

/// "default: 2 of 3 seeds ended by patience": the schedules of such runs were not gone through.
std::string ended_early(const ConfigRuns& runs) {
  const auto count = std::ranges::count(runs.seeds, Ending::patience, &SeedRun::ended);
  if (count == 0) return "";
  return runs.config + ": " + std::to_string(count) + " of " + std::to_string(runs.seeds.size()) +
         (runs.seeds.size() == 1 ? " seed" : " seeds") +
         " ended by patience, which was measured on this split, before the end of the schedule";
}

/// "1,200" or, where seeds differ, "1,150 to 1,200"; empty if one failed.
std::string steps_of(const ConfigRuns& runs) {
  const auto [least, most] = std::ranges::minmax_element(runs.seeds, {}, &SeedRun::steps);
  if (least == runs.seeds.end() || least->steps == 0) return "";
  return (least->steps == most->steps ? "" : format_count(least->steps) + " to ") + format_count(most->steps);
}

/// Where not all made as many.
std::string steps_remark(const Comparison& comparison) {
  std::vector<std::string> each;
  bool differ = false;
  for (const ConfigResult& result : comparison.results) {
    const std::string steps = steps_of(result.runs);
    if (steps.empty()) continue;
    differ |= steps != steps_of(comparison.results.front().runs);
    each.push_back(result.runs.config + " " + steps);
  }
  return differ ? "steps: " + joined(each, ", ") : "";
}

/// "in both seeds", "in 2 of 3 seeds": where the best has the lower loss.
std::string seeds_ahead(const ConfigResult& best, const ConfigResult& next) {
  const std::size_t seeds = best.runs.seeds.size();
  std::size_t ahead = 0;
  for (std::size_t k = 0; k < seeds; ++k)
    ahead += static_cast<std::size_t>(best.runs.seeds[k].loss < next.runs.seeds[k].loss);
  if (ahead < seeds) return "in " + std::to_string(ahead) + " of " + std::to_string(seeds) + " seeds";
  return seeds == 2 ? "in both seeds" : "in all " + std::to_string(seeds) + " seeds";
}

std::string in_tenths(const MeanEstimate& difference) {
  return "in " + tenths_cell(difference) + " tenths of the text";
}

}  // namespace

nlohmann::ordered_json difference_json(const std::optional<MeanEstimate>& difference) {
  if (!difference) return nullptr;
  return {{"difference", difference->mean}, {"ci95", interval_json(difference->ci95)}, {"p", or_null(difference->p)}};
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  nlohmann::ordered_json json = {{"results", nlohmann::ordered_json::array()}};
  for (const ConfigResult& result : comparison.results)
    json["results"].push_back(result_json(result, comparison.target.has_value()));
  json["split"] = "val";
  json["tokens"] = comparison.tokens;
  json["comparisons"] = comparison.pairs;
  if (comparison.target) json["target"] = *comparison.target;
  json["verdict"] = verdict(comparison);
  json["remarks"] = table_notes(comparison);
  for (const std::string& remark : remarks(comparison)) json["remarks"].push_back(remark);
  return json;
}

Table to_table(const Comparison& comparison) {
  const std::vector<ConfigResult>& results = comparison.results;
  const std::size_t beginning = common_beginning(results);
  const std::string config = beginning > 0 ? results.front().runs.config.substr(0, beginning - 1) : "config";
  Table table({"rank", config, "loss", "test", "std", "above best", "p", "tenths", "params", "tokens/s", "seconds"});
  table.may_leave_out({"std", "tokens/s", "p", "params", "seconds", "tenths", "test"});
  for (const ConfigResult& result : results) {
    const std::optional<double> test = mean_over(result.runs, &SeedRun::test_loss);
    const std::optional<MeanEstimate>& versus = result.versus_best;
    const std::string shared = most_jobs(result.runs) > 1 ? "*" : "";
    table.add({rank_cell(result), result.runs.config.substr(beginning), format_fixed(result.mean.mean, 4),
               test ? format_fixed(*test, 4) : "", result.mean.deviation ? format_fixed(*result.mean.deviation, 4) : "",
               versus ? difference_cell(*versus) : "", versus && versus->p ? p_cell(*versus->p) : "",
               versus ? tenths_cell(*versus) : "", format_short(static_cast<double>(result.runs.params)),
               format_short(*mean_over(result.runs, &SeedRun::tokens_per_second)) + shared,
               format_fixed(*mean_over(result.runs, &SeedRun::seconds), 1) + shared});
  }
  return table;
}

Table target_table(const Comparison& comparison) {
  Table table({"config", "reached " + format_fixed(comparison.target.value_or(0), 4), "steps", "seconds"});
  for (const ConfigResult& result : comparison.results) {
    const ConfigRuns& runs = result.runs;
    const auto reached = std::ranges::count_if(runs.seeds, [](const SeedRun& run) { return run.reached.has_value(); });
    const auto mean = mean_reached(runs);
    table.add({runs.config + (runs.leaks ? " (leaks)" : ""),
               std::to_string(reached) + " of " + std::to_string(runs.seeds.size()),
               mean ? format_count(std::llround(mean->steps)) : "",
               mean ? format_fixed(mean->seconds, 1) + (most_jobs(runs) > 1 ? "*" : "") : ""});
  }
  return table;
}

std::string undecided_text(const std::vector<NamedDifference>& differences) {
  std::vector<std::string> each;
  for (const auto& [name, difference] : differences)
    if (is_undecided(difference)) each.push_back(name);
  return joined(each, ", ");
}

std::vector<std::string> remarks(const Comparison& comparison) {
  std::vector<std::string> lines;
  if (comparison.results.empty()) return lines;
  lines.push_back(seeds_remark(comparison.results[0].runs.seeds.size()));
  lines.emplace_back(
      "±: half of a 95 % interval; std: standard deviation over seeds; tenths: parts of the text where the best is "
      "ahead");
  if (comparison.pairs > 1)
    lines.push_back("the best config was chosen by these losses, so intervals and p are corrected for all " +
                    std::to_string(comparison.pairs) + " pairs of configs");
  std::vector<NamedDifference> differences;
  for (const ConfigResult& result : comparison.results)
    if (result.versus_best) differences.emplace_back(result.runs.config, *result.versus_best);
  if (const std::string undecided = undecided_text(differences); !undecided.empty())
    lines.push_back("not distinguishable from " + comparison.results[0].runs.config + ": " + undecided);
  for (std::string& line : run_remarks(comparison)) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> run_remarks(const Comparison& comparison) {
  std::vector<std::string> lines;
  lines.emplace_back(
      comparison.trained_before
          ? "each run is scored at its best checkpoint, chosen on this split, which flatters runs that were evaluated "
            "often"
          : "each run is scored with its final weights (averaged ones with train.ema), not with its best checkpoint, "
            "which this split would have chosen");
  for (const ConfigResult& result : comparison.results) {
    add_what_was_scored(lines, result.runs);
    if (const std::string early = ended_early(result.runs); !early.empty()) lines.push_back(early);
  }
  if (const std::string steps = steps_remark(comparison); !steps.empty()) lines.push_back(steps);
  return lines;
}

std::vector<std::string> table_notes(const Comparison& comparison) {
  std::vector<std::string> lines = comparison.notes;
  if (const std::string tested = test_note(comparison.results); !tested.empty()) lines.push_back(tested);
  std::int64_t jobs = 1;
  for (const ConfigResult& result : comparison.results) {
    jobs = std::max(jobs, most_jobs(result.runs));
    if (result.runs.leaks) lines.push_back(result.runs.config + " " + leaks_label + "; its loss is not ranked");
    for (const SeedRun& run : result.runs.seeds)
      if (run.failure)
        lines.push_back(result.runs.config + " with seed " + std::to_string(run.seed) + ": " + run.failure->what());
  }
  if (jobs > 1)
    lines.push_back("* up to " + std::to_string(jobs) +
                    " trainings shared the machine: do not compare these times and speeds with others");
  return lines;
}

std::string verdict(const Comparison& comparison) {
  const std::vector<ConfigResult>& results = comparison.results;
  if (results.size() < 2 || results[1].rank == 0) return "";
  const ConfigResult &best = results[0], &next = results[1];
  const MeanEstimate& difference = *next.versus_best;
  const std::size_t beginning = common_beginning(results);
  const std::string name = best.runs.config.substr(beginning), other = next.runs.config.substr(beginning);
  if (difference.mean == 0) return name + " and " + other + " have equal losses";
  const bool several = results.size() > 2 && results[2].rank > 0;
  const std::string ahead = name + " is ahead" + (several ? " of " + other : ""),
                    by = " by " + format_fixed(difference.mean, 4);
  if (!difference.ci95)
    return ahead + by + ", " + in_tenths(difference) + "; one seed cannot show whether that is luck: " +
           (comparison.trained_before ? "train 3 seeds of each" : "try --seeds 3");
  if (is_undecided(difference)) return ahead + " " + seeds_ahead(best, next) + ", perhaps by chance";
  return ahead + by + " (95 % interval over other seeds: " + format_fixed(difference.ci95->low, 4) + " to " +
         format_fixed(difference.ci95->high, 4) + "), " + in_tenths(difference);
}

}  // namespace chargpt
