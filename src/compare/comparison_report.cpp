#include "compare/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "report/format.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* missing = "–";
constexpr double speed_tolerance = 0.1;  ///< of equal conditions under a clock

/// Over the seeds after the first `skipped` that have not failed; nullopt if all have.
template <class Figure>
std::optional<double> mean_over(const ConfigRuns& runs, Figure SeedRun::*figure, std::size_t skipped = 0) {
  double sum = 0, count = 0;
  for (const SeedRun& run : std::span(runs.seeds).subspan(skipped)) {
    if (run.failed()) continue;
    sum += static_cast<double>(run.*figure);
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json interval_json(const std::optional<Interval>& ci95) {
  return ci95 ? Json{ci95->low, ci95->high} : Json();
}

std::optional<double> tokens_of(const ConfigRuns& runs) {
  const auto steps = mean_over(runs, &SeedRun::steps);
  return steps ? std::optional(*steps * static_cast<double>(runs.tokens_per_step)) : std::nullopt;
}

Json seed_json(const SeedRun& run, bool has_target) {
  Json json = {{"seed", run.seed},
               {"loss", nullptr},
               {"seconds", run.seconds},
               {"tokens_per_second", run.tokens_per_second},
               {"run", run.run.string()}};
  if (run.jobs > 1) json["jobs"] = run.jobs;
  if (run.failed()) {
    json["failure"] = run.failure;
  } else {
    json["loss"] = run.loss;
    json["step"] = run.step;
    json["updates"] = run.steps;
    json["ended"] = enum_name(run.ended);
    if (std::isfinite(run.lowest_loss)) json["lowest"] = {{"loss", run.lowest_loss}, {"step", run.lowest_step}};
  }
  if (has_target)  // null where the run never came so far
    json["target"] = run.reached ? Json{{"step", run.reached->step}, {"seconds", run.reached->seconds}} : Json();
  return json;
}

/// Tenths of the text in which the second of a difference has the lower loss.
int tenths_above_zero(const MeanEstimate& difference) {
  return static_cast<int>(std::ranges::count_if(difference.tenths, [](double tenth) { return tenth > 0; }));
}

Json result_json(const ConfigResult& result, const Comparison& comparison) {
  Json json = {{"config", result.runs.config}, {"params", result.runs.params}, {"block_size", result.runs.block_size}};
  const std::optional<double> tokens = tokens_of(result.runs);
  json["steps"] = or_null(mean_over(result.runs, &SeedRun::steps));
  json["trained_tokens"] = or_null(tokens);
  json["passes"] =
      tokens && comparison.train_tokens > 0 ? Json(*tokens / static_cast<double>(comparison.train_tokens)) : Json();
  json["seeds"] = Json::array();
  for (const SeedRun& run : result.runs.seeds) json["seeds"].push_back(seed_json(run, comparison.target.has_value()));
  json["mean"] = result.mean.mean;
  json["ci95"] = interval_json(result.mean.ci95);
  json["spread"] = or_null(result.mean.deviation);
  json["rank"] = result.rank > 0 ? Json(result.rank) : Json();
  json["versus_best"] = difference_json(result.versus_best);
  if (result.versus_best) {
    json["versus_best"]["ahead_in_tenths"] = tenths_above_zero(*result.versus_best);
    json["versus_best"]["tenths_compared"] = result.versus_best->tenths.size();
  }
  if (result.runs.leaks) json["leaks"] = true;
  return json;
}

Json effects_json(const Comparison& comparison) {
  Json effects = Json::array();
  for (const std::vector<LevelMean>& effect : comparison.effects) {
    Json levels = Json::array();
    for (const LevelMean& each : effect)
      levels.push_back(
          {{"value", each.level}, {"mean", each.mean}, {"versus_best", difference_json(each.versus_best)}});
    effects.push_back(std::move(levels));
  }
  return effects;
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

std::string p_text(double p) {
  return p < 0.0001 ? "<0.0001" : format_fixed(p, 4);
}

std::string loss_cell(double loss) {
  return std::isfinite(loss) ? format_fixed(loss, 4) : missing;
}

/// "0.0123 ± 0.0045", half of a 95 % interval, or the first alone.
std::string difference_cell(const std::optional<MeanEstimate>& difference) {
  if (!difference) return "";
  std::string cell = format_fixed(difference->mean, 4);
  if (difference->ci95) cell += " ± " + format_fixed((difference->ci95->high - difference->ci95->low) / 2, 4);
  return cell;
}

std::string p_cell(const std::optional<MeanEstimate>& difference) {
  return difference && difference->p ? p_text(*difference->p) : "";
}

std::int64_t most_jobs(const ConfigRuns& runs) {
  std::int64_t jobs = 1;
  for (const SeedRun& run : runs.seeds) jobs = std::max(jobs, run.jobs);
  return jobs;
}

/// "1,200" or, where seeds differ, "1,150 to 1,200"; empty if none has any.
std::string steps_of(const ConfigRuns& runs) {
  std::vector<std::int64_t> steps;
  for (const SeedRun& run : runs.seeds)
    if (run.steps > 0) steps.push_back(run.steps);
  if (steps.empty()) return "";
  const auto [least, most] = std::ranges::minmax(steps);
  return (least == most ? "" : format_count(least) + " to ") + format_count(most);
}

/// Whether two configs made another number of steps, or saw another number of tokens.
bool trained_unalike(const std::vector<ConfigResult>& results) {
  return std::ranges::any_of(results, [&](const ConfigResult& result) {
    const ConfigRuns &one = result.runs, &first = results.front().runs;
    const std::string steps = steps_of(one), others = steps_of(first);
    return !steps.empty() && !others.empty() && (steps != others || one.tokens_per_step != first.tokens_per_step);
  });
}

std::string training_remark(const Comparison& comparison) {
  if (!trained_unalike(comparison.results)) return "";
  std::vector<std::string> each;
  for (const ConfigResult& result : comparison.results)
    if (const auto tokens = tokens_of(result.runs))
      each.push_back(result.runs.config + " " + format_short(*tokens) + " tokens in " + steps_of(result.runs) +
                     " steps");
  return "not trained alike: " + joined(each, ", ");
}

/// The clock gave the config's first run its number of steps, and the later ones repeat it. Empty if all trained at
/// about the same speed, or there is nothing to compare.
std::string clock_remark(const ConfigRuns& runs) {
  if (!runs.by_clock || runs.seeds.size() < 2 || runs.seeds.front().failed()) return "";
  const double first = runs.seeds.front().tokens_per_second;
  const double others = mean_over(runs, &SeedRun::tokens_per_second, 1).value_or(first);
  if (std::abs(first / others - 1) <= speed_tolerance) return "";
  return runs.config + ": its first run, which set the number of steps, trained " + format_short(first) +
         " tokens/s and the others " + format_short(others) + "; the machine was not equally fast";
}

/// Seconds that the config's steps take at the mean speed of its seeds; 0 if that is unknown.
double training_seconds(const ConfigRuns& runs) {
  const auto tokens = tokens_of(runs), speed = mean_over(runs, &SeedRun::tokens_per_second);
  return tokens && speed && *speed > 0 ? *tokens / *speed : 0;
}

/// Two configs under a clock that gave one of them clearly more steps than its speed explains; else empty.
std::string unequal_time(const ConfigRuns& one, const ConfigRuns& other) {
  const double first = training_seconds(one), second = training_seconds(other);
  if (!one.by_clock || !other.by_clock || first <= 0 || second <= 0) return "";
  const double ratio = first / second;
  if (std::max(ratio, 1 / ratio) <= 1 + speed_tolerance) return "";
  return "the clock gave " + one.config + " " + format_fixed(ratio, 2) + " times the training of " + other.config +
         ", speeds taken into account";
}

/// Why the best two had no equal conditions under a clock: one line each.
std::vector<std::string> clock_remarks(const std::vector<ConfigResult>& results) {
  std::vector<std::string> lines;
  for (const ConfigResult& result : results)
    if (result.rank == 1 || result.rank == 2) lines.push_back(clock_remark(result.runs));
  if (lines.size() == 2) lines.push_back(unequal_time(results[0].runs, results[1].runs));
  std::erase(lines, "");
  return lines;
}

/// "default: 2 of 3 seeds stopped early by patience": such runs have not gone through their schedule.
std::string patience_remark(const ConfigRuns& runs) {
  const auto count = std::ranges::count(runs.seeds, Ending::patience, &SeedRun::ended);
  if (count == 0) return "";
  return runs.config + ": " + std::to_string(count) + " of " + std::to_string(runs.seeds.size()) +
         (runs.seeds.size() == 1 ? " seed" : " seeds") + " stopped early by patience, which this split decided";
}

void add_run_remarks(std::vector<std::string>& lines, const ConfigRuns& runs) {
  constexpr double clearly = 0.02;
  for (const SeedRun& run : runs.seeds) {
    const std::string name = runs.config + " with seed " + std::to_string(run.seed);
    if (run.failed()) {
      lines.push_back(name + ": " + run.failure);
      continue;
    }
    if (run.step != run.steps)
      lines.push_back(name + " is scored at step " + format_count(run.step) + ", not at its end");
    else if (run.lowest_loss < run.loss - clearly)
      lines.push_back(name + " overfitted: its loss rose from " + format_fixed(run.lowest_loss, 4) + " (step " +
                      format_count(run.lowest_step) + ") to " + format_fixed(run.loss, 4) +
                      " at the end, which is scored");
    if (!run.caution.empty()) lines.push_back(name + ": " + run.caution);
  }
}

std::string look_remark(const Look& look, bool several_seeds) {
  if (!several_seeds) return "";
  if (look.number == 0)
    return "chargpt cannot know how often these runs were compared before: each comparison with more seeds raises "
           "the rate of false positives";
  if (look.number == 1) return "";
  return "this is look " + std::to_string(look.number) + " at this comparison, so \"is ahead\" needs p ≤ " +
         Json(look.level).dump();
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

/// What it would take to decide; figures only from five seeds on.
std::string advice(const Comparison& comparison, const MeanEstimate& difference, std::int64_t seeds) {
  if (comparison.look.number == 0) return "";
  const double later = level_of_look(comparison.look.number + 1);
  const auto further = seeds_to_decide(difference, seeds, later, comparison.pairs);
  if (seeds < 5) return "; more seeds (--seeds) are tested at p ≤ " + Json(later).dump();
  if (!further) return "; if these losses are typical, not even 1,000 seeds would decide";
  const auto fresh = seeds_to_decide(difference, 5, first_look_level, comparison.pairs);
  return "; if these losses are typical, about " + format_count(*further - seeds, "further seed") +
         " would decide (at p ≤ " + Json(later).dump() + "), or " +
         format_count(fresh.value_or(*further), "fresh one") + " (another --seed and --out)";
}

}  // namespace

Json difference_json(const std::optional<MeanEstimate>& difference) {
  if (!difference) return nullptr;
  return {{"difference", difference->mean}, {"ci95", interval_json(difference->ci95)}, {"p", or_null(difference->p)}};
}

Json to_json(const Comparison& comparison) {
  Json json = {{"results", Json::array()}};
  for (const ConfigResult& result : comparison.results) json["results"].push_back(result_json(result, comparison));
  if (!comparison.effects.empty()) json["effects"] = effects_json(comparison);
  json["split"] = comparison.split;
  json["tokens"] = comparison.tokens;
  json["comparisons"] = comparison.pairs;
  json["look"] = comparison.look.number > 0 ? Json(comparison.look.number) : Json();
  json["level"] = comparison.look.level;
  if (comparison.target) json["target"] = *comparison.target;
  json["verdict"] = verdict(comparison);
  json["remarks"] = limits(comparison);
  for (const std::string& line : explanations(comparison)) json["remarks"].push_back(line);
  return json;
}

Table to_table(const Comparison& comparison) {
  const std::vector<ConfigResult>& results = comparison.results;
  const std::size_t beginning = common_beginning(results);
  const std::string config = beginning > 0 ? results.front().runs.config.substr(0, beginning - 1) : "config";
  const bool shows_steps = trained_unalike(results) || std::ranges::any_of(results, [](const ConfigResult& result) {
                             return result.runs.by_clock;
                           });
  Table table({"rank", config, "loss", "std", "above best", "p", "steps", "tokens", "params", "tokens/s", "seconds"});
  table.may_leave_out({"std", "tokens/s", "p", "params", "seconds", "tokens", "steps"});
  for (const ConfigResult& result : results) {
    const ConfigRuns& runs = result.runs;
    const std::string shared = most_jobs(runs) > 1 ? "*" : "";
    const auto speed = mean_over(runs, &SeedRun::tokens_per_second), seconds = mean_over(runs, &SeedRun::seconds);
    const auto tokens = tokens_of(runs);
    table.add({rank_cell(result), runs.config.substr(beginning), loss_cell(result.mean.mean),
               result.mean.deviation ? format_fixed(*result.mean.deviation, 4) : "",
               difference_cell(result.versus_best), p_cell(result.versus_best), shows_steps ? steps_of(runs) : "",
               shows_steps && tokens ? format_short(*tokens) : "", format_short(static_cast<double>(runs.params)),
               speed ? format_short(*speed) + shared : missing,
               seconds ? format_fixed(*seconds, 1) + shared : missing});
  }
  return table;
}

Table effects_table(const Comparison& comparison) {
  Table table({"main effect", "mean loss", "above best", "p"});
  table.may_leave_out({"p"});
  for (const std::vector<LevelMean>& effect : comparison.effects)
    for (const LevelMean& each : effect)
      table.add({each.level, format_fixed(each.mean, 4), difference_cell(each.versus_best), p_cell(each.versus_best)});
  return table;
}

Table target_table(const Comparison& comparison) {
  Table table({"config", "reached " + format_fixed(comparison.target.value_or(0), 4), "steps", "seconds"});
  for (const ConfigResult& result : comparison.results) {
    double reached = 0, steps = 0, seconds = 0;
    for (const SeedRun& run : result.runs.seeds) {
      if (!run.reached) continue;
      ++reached;
      steps += static_cast<double>(run.reached->step);
      seconds += run.reached->seconds;
    }
    const std::size_t seeds = result.runs.seeds.size();
    const bool all = reached == static_cast<double>(seeds);  // the mean of those that did would flatter
    table.add({result.runs.config + (result.runs.leaks ? " (leaks)" : ""),
               format_fixed(reached, 0) + " of " + std::to_string(seeds),
               all ? format_count(std::llround(steps / reached)) : missing,
               all ? format_fixed(seconds / reached, 1) + (most_jobs(result.runs) > 1 ? "*" : "") : missing});
  }
  return table;
}

std::string undecided_text(const std::vector<NamedDifference>& differences, double level) {
  std::vector<std::string> each;
  for (const auto& [name, difference] : differences)
    if (difference.p && *difference.p > level) each.push_back(name);
  return joined(each, ", ");
}

std::string verdict(const Comparison& comparison) {
  const std::vector<ConfigResult>& results = comparison.results;
  if (results.size() < 2 || results[1].rank == 0) return "";
  const ConfigResult &best = results[0], &next = results[1];
  const MeanEstimate& difference = *next.versus_best;
  const std::size_t beginning = common_beginning(results);
  const std::string name = best.runs.config.substr(beginning), other = next.runs.config.substr(beginning);
  const std::string by = format_fixed(difference.mean, 4);
  if (by == "0.0000") return name + " and " + other + " are equal (within 0.0001)";
  if (!difference.p)
    return name + " has a lower loss than " + other + ", by " + by +
           "; one seed cannot show whether that is luck: train several of each (--seeds)";
  const std::string test = "p = " + p_text(*difference.p) + ", level " + Json(comparison.look.level).dump();
  if (*difference.p > comparison.look.level)
    return name + " has a lower loss than " + other + " " + seeds_ahead(best, next) + ", by " + by +
           ", which may be chance (" + test + ")" + advice(comparison, difference, std::ssize(best.runs.seeds));
  if (!clock_remarks(results).empty())
    return name + " has a lower loss than " + other + ", by " + by + " (" + test +
           "), but the clock did not give both equal conditions (below), so neither is called ahead";
  return name + " is ahead of " + other + " by " + by + " (" + test + "), in " +
         std::to_string(tenths_above_zero(difference)) + " of " + std::to_string(difference.tenths.size()) +
         " tenths of the text";
}

std::vector<std::string> limits(const Comparison& comparison) {
  std::vector<std::string> lines = comparison.notes;
  const auto add = [&lines](const std::string& line) {
    if (!line.empty()) lines.push_back(line);
  };
  if (comparison.results.empty()) return lines;
  add(training_remark(comparison));
  for (const std::string& line : clock_remarks(comparison.results)) add(line);
  std::int64_t jobs = 1;
  std::vector<NamedDifference> differences;
  for (const ConfigResult& result : comparison.results) {
    jobs = std::max(jobs, most_jobs(result.runs));
    if (result.versus_best) differences.emplace_back(result.runs.config, *result.versus_best);
    if (result.runs.leaks) add(result.runs.config + " " + leaks_label + "; its loss is not ranked");
    if (result.rank != 1 && result.rank != 2) add(clock_remark(result.runs));
    add(patience_remark(result.runs));
    add_run_remarks(lines, result.runs);
  }
  const std::string undecided = undecided_text(differences, comparison.look.level);
  if (!undecided.empty() && undecided != comparison.results[1].runs.config)  // of which the verdict speaks
    add("not distinguishable from " + comparison.results[0].runs.config + ": " + undecided);
  if (jobs > 1)
    add("times with a *: up to " + std::to_string(jobs) + " runs trained at once; do not compare them with others");
  add(look_remark(comparison.look, comparison.results[0].runs.seeds.size() > 1));
  return lines;
}

std::vector<std::string> explanations(const Comparison& comparison) {
  if (comparison.results.empty()) return {};
  std::vector<std::string> lines = {
      "each run is scored with its final weights (averaged ones with train.ema): this split did not choose them"};
  const std::size_t seeds = comparison.results[0].runs.seeds.size();
  if (seeds > 1)
    lines.push_back("±: half of a 95 % interval over other seeds on this text (Student's t over " +
                    std::to_string(seeds) + " seeds, paired); std: standard deviation over seeds");
  if (comparison.pairs > 1)
    lines.push_back("intervals and p are corrected for all " + std::to_string(comparison.pairs) + " pairs of configs");
  if (!comparison.effects.empty())
    lines.emplace_back("main effect: the mean over all configs with that value, paired by seeds");
  return lines;
}

}  // namespace chargpt
