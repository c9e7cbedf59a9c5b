// Ranks, and the forms a comparison is shown in.
#include "experiment/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/format.h"

namespace chargpt {
namespace {

bool failed(const ConfigRuns& runs) {
  return std::any_of(runs.seeds.begin(), runs.seeds.end(), [](const SeedRun& run) { return !run.failure.empty(); });
}

std::vector<std::vector<float>> losses_of(const ConfigRuns& runs) {
  std::vector<std::vector<float>> losses;
  for (const SeedRun& run : runs.seeds) losses.push_back(run.losses);
  return losses;
}

std::optional<double> spread_of(const ConfigRuns& runs) {
  if (runs.seeds.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(runs.seeds.size());
  double mean = 0, squares = 0;
  for (const SeedRun& run : runs.seeds) mean += run.loss / n;
  for (const SeedRun& run : runs.seeds) squares += (run.loss - mean) * (run.loss - mean);
  return std::sqrt(squares / (n - 1));
}

ConfigResult summarise(ConfigRuns runs) {
  ConfigResult result;
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (failed(runs)) {
    result.mean = {.mean = unknown, .ci95 = {unknown, unknown}, .p = unknown, .resolvable = unknown};
  } else {
    result.mean = mean_over_seeds(losses_of(runs));
    result.spread = spread_of(runs);
  }
  result.runs = std::move(runs);
  return result;
}

bool can_be_ranked(const ConfigResult& result) {
  return !result.runs.leaks && std::isfinite(result.mean.mean);
}

double mean_over(const ConfigRuns& runs, double SeedRun::*figure) {
  const double sum = std::accumulate(runs.seeds.begin(), runs.seeds.end(), 0.0,
                                     [figure](double so_far, const SeedRun& run) { return so_far + run.*figure; });
  return sum / static_cast<double>(runs.seeds.size());
}

nlohmann::ordered_json interval_json(const Interval& interval) {
  return nlohmann::ordered_json::array({interval.low, interval.high});
}

nlohmann::ordered_json seed_json(const SeedRun& run) {
  nlohmann::ordered_json json = {{"seed", run.seed},
                                 {"loss", nullptr},
                                 {"seconds", run.seconds},
                                 {"tokens_per_second", run.tokens_per_second},
                                 {"run", run.run.string()}};
  if (run.jobs > 1) json["jobs"] = run.jobs;
  if (run.failure.empty()) {
    json["loss"] = run.loss;
    json["step"] = run.step;
  } else {
    json["failure"] = run.failure;
  }
  return json;
}

nlohmann::ordered_json versus_json(const std::optional<MeanEstimate>& versus) {
  if (!versus) return nullptr;
  return {{"difference", versus->mean},
          {"ci95", interval_json(versus->ci95)},
          {"p", versus->p},
          {"resolvable", versus->resolvable}};
}

nlohmann::ordered_json result_json(const ConfigResult& result) {
  nlohmann::ordered_json json = {{"config", result.runs.config}, {"params", result.runs.params}};
  json["block_size"] = result.runs.block_size;
  json["seeds"] = nlohmann::ordered_json::array();
  for (const SeedRun& run : result.runs.seeds) json["seeds"].push_back(seed_json(run));
  json["mean"] = result.mean.mean;
  json["ci95"] = interval_json(result.mean.ci95);
  json["spread"] = result.spread ? nlohmann::ordered_json(*result.spread) : nlohmann::ordered_json();
  json["rank"] = result.rank > 0 ? nlohmann::ordered_json(result.rank) : nlohmann::ordered_json();
  json["versus_best"] = versus_json(result.versus_best);
  if (result.runs.leaks) json["leaks"] = true;
  return json;
}

std::string rank_cell(const ConfigResult& result) {
  if (result.rank > 0) return std::to_string(result.rank);
  return result.runs.leaks ? "leaks" : "failed";
}

std::string p_cell(double p) {
  return p < 0.0001 ? "<0.0001" : format_fixed(p, 4);
}

std::string interval_cell(const Interval& interval) {
  return format_fixed(interval.low, 4) + " to " + format_fixed(interval.high, 4);
}

std::int64_t most_jobs(const ConfigRuns& runs) {
  std::int64_t jobs = 1;
  for (const SeedRun& run : runs.seeds) jobs = std::max(jobs, run.jobs);
  return jobs;
}

std::vector<std::string> row_of(const ConfigResult& result) {
  const std::optional<MeanEstimate>& versus = result.versus_best;
  const std::string mark = most_jobs(result.runs) > 1 ? "*" : "";
  return {rank_cell(result),
          result.runs.config,
          format_fixed(result.mean.mean, 4),
          interval_cell(result.mean.ci95),
          result.spread ? format_fixed(*result.spread, 4) : "",
          versus ? format_fixed(versus->mean, 4) : "",
          versus ? interval_cell(versus->ci95) : "",
          versus ? p_cell(versus->p) : "",
          format_count(result.runs.params),
          format_short(mean_over(result.runs, &SeedRun::tokens_per_second)) + mark,
          format_fixed(mean_over(result.runs, &SeedRun::seconds), 1) + mark};
}

/// The widest of the paired intervals decides what could be told apart everywhere in the table.
std::optional<double> largest_resolvable(const Comparison& comparison) {
  std::optional<double> largest;
  for (const ConfigResult& result : comparison.results)
    if (result.versus_best) largest = std::max(largest.value_or(0), result.versus_best->resolvable);
  return largest;
}

std::string seeds_remark(std::size_t seeds) {
  if (seeds == 1)
    return "one seed each: intervals and p speak of these very weights on other text, not of the configs; --seeds 3 "
           "trains each config three times";
  return "intervals and p are over " + std::to_string(seeds) +
         " seeds and over blocks of 1,024 characters of the text, paired";
}

}  // namespace

Comparison rank_configs(std::vector<ConfigRuns> configs) {
  Comparison comparison;
  for (ConfigRuns& runs : configs) comparison.results.push_back(summarise(std::move(runs)));
  std::vector<ConfigResult>& results = comparison.results;
  const auto end_of_ranked = std::stable_partition(results.begin(), results.end(), can_be_ranked);
  std::stable_sort(results.begin(), end_of_ranked,
                   [](const ConfigResult& a, const ConfigResult& b) { return a.mean.mean < b.mean.mean; });
  for (auto result = results.begin(); result != end_of_ranked; ++result) {
    result->rank = result - results.begin() + 1;
    if (result->rank > 1) result->versus_best = paired_difference(losses_of(result->runs), losses_of(results[0].runs));
  }
  for (const ConfigResult& result : results)
    for (const SeedRun& run : result.runs.seeds)
      comparison.tokens = std::max(comparison.tokens, std::ssize(run.losses));
  return comparison;
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  nlohmann::ordered_json json = {{"results", nlohmann::ordered_json::array()}};
  for (const ConfigResult& result : comparison.results) json["results"].push_back(result_json(result));
  json["split"] = "val";
  json["tokens"] = comparison.tokens;
  json["remarks"] = remarks(comparison);
  return json;
}

Table to_table(const Comparison& comparison) {
  Table table({"rank", "config", "loss", "95 % interval", "spread", "above best", "95 % interval", "p", "parameters",
               "tokens/s", "seconds"});
  for (const ConfigResult& result : comparison.results) table.add(row_of(result));
  return table;
}

std::vector<std::string> remarks(const Comparison& comparison) {
  std::vector<std::string> lines;
  if (comparison.results.empty()) return lines;
  lines.push_back(seeds_remark(comparison.results[0].runs.seeds.size()));
  if (const auto smallest = largest_resolvable(comparison))
    lines.push_back("the smallest difference from the best that these seeds could have resolved everywhere is " +
                    format_fixed(*smallest, 4) + " nats per character");
  std::int64_t jobs = 1;
  for (const ConfigResult& result : comparison.results) jobs = std::max(jobs, most_jobs(result.runs));
  if (jobs > 1)
    lines.push_back("* up to " + std::to_string(jobs) +
                    " trainings shared the machine: these times and speeds compare with none");
  for (const ConfigResult& result : comparison.results) {
    if (result.runs.leaks) lines.push_back(result.runs.config + " " + leaks_label + "; its loss is not ranked");
    for (const SeedRun& run : result.runs.seeds)
      if (!run.failure.empty())
        lines.push_back(result.runs.config + " with seed " + std::to_string(run.seed) + ": " + run.failure);
  }
  return lines;
}

}  // namespace chargpt
