#include "compare/comparison_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "report/format.h"
#include "train/schedule.h"

namespace chargpt {
namespace {

constexpr double speed_tolerance = 0.1;  ///< relative; allowed difference under max_seconds

/// Mean of a figure over the seeds that have not failed; nullopt if all failed.
template <class Figure>
std::optional<double> mean_over(std::span<const SeedRun> seeds, Figure figure) {
  double sum = 0, count = 0;
  for (const SeedRun& run : seeds) {
    if (run.failed()) continue;
    sum += static_cast<double>(std::invoke(figure, run));
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

Json interval_json(const std::optional<Interval>& ci95) {
  return ci95 ? Json{ci95->low, ci95->high} : Json();
}

std::optional<double> tokens_of(const ConfigRuns& runs) {
  const auto steps = mean_over(runs.seeds, &SeedRun::steps);
  return steps ? std::optional(*steps * static_cast<double>(tokens_per_step(runs.options))) : std::nullopt;
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
  if (has_target)  // null if the run never reached it
    json["reached"] = run.reached ? Json{{"step", run.reached->step}, {"seconds", run.reached->seconds}} : Json();
  return json;
}

/// Adds the number of seeds that reached the target, null if it is unknown, and the mean of their steps and seconds:
/// null unless all did, as the mean of some would be too low.
void add_target(Json& json, std::span<const SeedRun> seeds) {
  const auto reached = std::ranges::count_if(seeds, [](const SeedRun& run) { return run.reached.has_value(); });
  const auto mean = [&](auto figure) { return reached == std::ssize(seeds) ? mean_over(seeds, figure) : std::nullopt; };
  json["seeds_reached"] = std::ranges::all_of(seeds, &SeedRun::evaluated) ? Json(reached) : Json();
  json["steps_to_target"] = or_null(mean([](const SeedRun& run) { return run.reached->step; }));
  json["seconds_to_target"] = or_null(mean([](const SeedRun& run) { return run.reached->seconds; }));
}

Json result_json(const ConfigRuns& runs, const Comparison& comparison) {
  const std::optional<double> tokens = tokens_of(runs);
  const auto passes = [&comparison](double trained) { return trained / static_cast<double>(comparison.train_tokens); };
  Json json = {{"config", runs.config},
               {"params", runs.params},
               {"block_size", runs.options.model.block_size},
               {"steps", or_null(mean_over(runs.seeds, &SeedRun::steps))},
               {"trained_tokens", or_null(tokens)},
               {"passes", tokens && comparison.train_tokens > 0 ? Json(passes(*tokens)) : Json()},
               {"tokens_per_second", or_null(mean_over(runs.seeds, &SeedRun::tokens_per_second))},
               {"seconds", or_null(mean_over(runs.seeds, &SeedRun::seconds))},
               {"seeds", Json::array()},
               {"mean", runs.mean.mean},
               {"ci95", interval_json(runs.mean.ci95)},
               {"spread", or_null(runs.mean.deviation)},
               {"rank", runs.rank > 0 ? Json(runs.rank) : Json()},
               {"versus_best", difference_json(runs.versus_best)}};
  for (const SeedRun& run : runs.seeds) json["seeds"].push_back(seed_json(run, comparison.target.has_value()));
  if (runs.leaks()) json["leaks"] = true;
  if (comparison.target) add_target(json, runs.seeds);
  return json;
}

/// The levels of each varied option, best first.
Json effects_json(const Comparison& comparison) {
  Json effects = Json::array();
  for (const std::vector<LevelMean>& effect : comparison.effects) {
    Json& levels = effects.emplace_back(Json::array());
    for (const LevelMean& each : effect)
      levels.push_back(
          {{"value", each.level}, {"mean", each.mean}, {"versus_best", difference_json(each.versus_best)}});
  }
  return effects;
}

/// Length of "quick " if every name starts with that word, as for variants of one config; else 0.
std::size_t common_beginning(const std::vector<ConfigRuns>& results) {
  if (results.empty()) return 0;
  const std::string& first = results.front().config;
  const std::string beginning = first.substr(0, first.find(' ') + 1);
  const bool all =
      std::ranges::all_of(results, [&](const ConfigRuns& result) { return result.config.starts_with(beginning); });
  return all ? beginning.size() : 0;
}

std::string p_text(double p) {
  return p < 0.0001 ? "< 0.0001" : format_fixed(p, 4);
}

std::string rank_cell(const Json& result) {
  return !result["rank"].is_null() ? result["rank"].dump() : result.contains("leaks") ? "leaks" : "failed";
}

/// "0.0123 ± 0.0045" (half of a 95 % interval), or with one seed only the difference.
std::string difference_cell(const Json& row) {
  const Json& difference = row["versus_best"];
  if (difference.is_null()) return "";
  const std::string by = format_fixed(difference["difference"], 4);
  if (difference["ci95"].is_null()) return by;
  return fmt::format("{} ± {:.4f}", by,
                     (difference["ci95"][1].get<double>() - difference["ci95"][0].get<double>()) / 2);
}

std::string p_cell(const Json& row) {
  const Json& difference = row["versus_best"];
  return difference.is_null() || difference["p"].is_null() ? "" : p_text(difference["p"]);
}

/// Adds a star if runs trained at once: such times are not comparable.
Cell starred(const Cell& cell) {
  return [cell](const Json& row) {
    const bool shared = std::ranges::any_of(row["seeds"], [](const Json& seed) { return seed.contains("jobs"); });
    return cell(row) + (shared ? "*" : "");
  };
}

std::string whole(const Json& value) {
  return format_count(std::llround(value.get<double>()));
}

/// Whether configs differ in their number of steps or tokens.
bool trained_unalike(const Json& results) {
  return std::ranges::any_of(results, [&](const Json& one) {
    const auto differ = [&](const char* what) {
      return !one[what].is_null() && !results[0][what].is_null() && one[what] != results[0][what];
    };
    return differ("steps") || differ("trained_tokens");
  });
}

std::string training_remark(const Json& results) {
  if (!trained_unalike(results)) return "";
  std::vector<std::string> each;
  for (const Json& result : results)
    if (!result["steps"].is_null())
      each.push_back(fmt::format("{} {} tokens in {} steps", result["config"].get<std::string>(),
                                 format_short(result["trained_tokens"]), whole(result["steps"])));
  return "different training lengths: " + joined(each, ", ");
}

/// Under max_seconds the config's first run sets the number of steps, and the others repeat it. Describes a difference
/// in speed; empty if the speed was about the same.
std::string clock_remark(const ConfigRuns& runs) {
  if (!runs.by_clock() || runs.seeds.size() < 2 || runs.seeds.front().failed()) return "";
  const double first = runs.seeds.front().tokens_per_second;
  const double others = mean_over(std::span(runs.seeds).subspan(1), &SeedRun::tokens_per_second).value_or(first);
  if (std::abs(first / others - 1) <= speed_tolerance) return "";
  return fmt::format(
      "{}: its first run, which set the number of steps, trained {} tokens/s and the others {}; the "
      "speed of the machine changed",
      runs.config, format_short(first), format_short(others));
}

/// Seconds that the config's steps take at the mean speed of its seeds; 0 if that is unknown.
double training_seconds(const ConfigRuns& runs) {
  const auto tokens = tokens_of(runs), speed = mean_over(runs.seeds, &SeedRun::tokens_per_second);
  return tokens && speed && *speed > 0 ? *tokens / *speed : 0;
}

/// Reports that max_seconds gave one config clearly more training than its speed explains; else empty.
std::string unequal_time(const ConfigRuns& one, const ConfigRuns& other) {
  const double first = training_seconds(one), second = training_seconds(other);
  if (!one.by_clock() || !other.by_clock() || first <= 0 || second <= 0) return "";
  const double ratio = first / second;
  if (std::max(ratio, 1 / ratio) <= 1 + speed_tolerance) return "";
  return fmt::format("max_seconds gave {} {:.2f} times the training of {}, relative to their speeds", one.config, ratio,
                     other.config);
}

/// "default: 2 of 3 seeds stopped early by patience": such runs did not complete their schedule.
std::string patience_remark(const ConfigRuns& runs) {
  const auto count = std::ranges::count(runs.seeds, Ending::patience, &SeedRun::ended);
  if (count == 0) return "";
  return fmt::format("{}: {} of {} stopped early by patience, judged on the validation split", runs.config, count,
                     format_count(std::ssize(runs.seeds), "seed"));
}

void add_run_remarks(std::vector<std::string>& lines, const ConfigRuns& runs) {
  constexpr double clearly = 0.02;
  for (const SeedRun& run : runs.seeds) {
    const std::string name = fmt::format("{} with seed {}", runs.config, run.seed);
    if (run.failed())
      lines.push_back(name + ": " + run.failure);
    else if (run.step != run.steps)
      lines.push_back(fmt::format("{} is scored at step {}, not at its end", name, format_count(run.step)));
    else if (run.lowest_loss < run.loss - clearly)
      lines.push_back(fmt::format(
          "{} overfitted: its loss rose from {:.4f} (step {}) to {:.4f} at the end; the final weights are scored", name,
          run.lowest_loss, format_count(run.lowest_step), run.loss));
    if (!run.failed() && !run.caution.empty()) lines.push_back(name + ": " + run.caution);
  }
}

std::string look_remark(const Comparison& comparison) {
  if (comparison.look == 0)
    return "it is unknown how often these runs were compared before: each comparison with more seeds raises "
           "the rate of false positives";
  if (comparison.look == 1) return "";
  return fmt::format("this is look {} at this comparison, so \"is ahead\" needs p ≤ {}", comparison.look,
                     comparison.level());
}

/// In how many seeds the best has the lower loss.
std::size_t seeds_ahead(const ConfigRuns& best, const ConfigRuns& next) {
  std::size_t ahead = 0;
  for (std::size_t k = 0; k < best.seeds.size(); ++k)
    ahead += static_cast<std::size_t>(best.seeds[k].loss < next.seeds[k].loss);
  return ahead;
}

/// Advice on how many seeds would decide; with numbers only from five seeds on.
std::string advice(const Comparison& comparison, const MeanEstimate& difference, std::int64_t seeds) {
  if (comparison.look == 0) return "";
  const double later = level_of_look(comparison.look + 1);
  const auto further = seeds_to_decide(difference, seeds, later, comparison.pairs);
  if (seeds < 5) return fmt::format("; more seeds (--seeds) are tested at p ≤ {}", later);
  if (!further) return "; if these losses are typical, not even 1,000 seeds would decide";
  const auto fresh = seeds_to_decide(difference, 5, first_look_level, comparison.pairs);
  return fmt::format(
      "; if these losses are typical, about {} would decide (at p ≤ {}), or {} (another --seed and --out)",
      format_count(*further - seeds, "further seed"), later, format_count(fresh.value_or(*further), "fresh one"));
}

/// Compares the two best configs: "a is ahead of b by 0.0123 (p = 0.002, level 0.04)", or why neither is ahead. Empty
/// if fewer than two configs are ranked.
std::string verdict(const Comparison& comparison) {
  const std::vector<ConfigRuns>& results = comparison.results;
  if (results.size() < 2 || results[1].rank == 0) return "";
  const ConfigRuns &best = results[0], &next = results[1];
  const MeanEstimate& difference = *next.versus_best;
  const std::size_t beginning = common_beginning(results);
  const std::string name = best.config.substr(beginning), other = next.config.substr(beginning);
  const std::string by = format_fixed(difference.mean, 4), lower = name + " has a lower loss than " + other;
  if (by == "0.0000") return name + " and " + other + " are equal (within 0.0001)";
  if (!difference.p)
    return fmt::format("{}, by {}; one seed cannot rule out chance: train several of each (--seeds)", lower, by);
  const std::string test =
      fmt::format("p {}{}, level {}", *difference.p < 0.0001 ? "" : "= ", p_text(*difference.p), comparison.level());
  if (*difference.p > comparison.level())
    return fmt::format("{} in {} of {} seeds, by {}, which may be chance ({}){}", lower, seeds_ahead(best, next),
                       best.seeds.size(), by, test, advice(comparison, difference, std::ssize(best.seeds)));
  if (!clock_remark(best).empty() || !clock_remark(next).empty() || !unequal_time(best, next).empty())
    return fmt::format(
        "{}, by {} ({}), but max_seconds did not give both equal conditions (below), so neither is called "
        "ahead",
        lower, by, test);
  return fmt::format("{} is ahead of {} by {} ({})", name, other, by, test);
}

/// Limits of the verdict: unequal training, unequal speed, overfitting, shared text, earlier looks, failures; what ±
/// means.
std::vector<std::string> limits(const Comparison& comparison, const Json& rows) {
  std::vector<std::string> lines = comparison.notes;
  if (comparison.results.empty()) return lines;
  lines.push_back(training_remark(rows));
  if (comparison.pairs > 0) lines.push_back(unequal_time(comparison.results[0], comparison.results[1]));
  std::int64_t jobs = 1;
  std::vector<NamedDifference> differences;
  for (const ConfigRuns& result : comparison.results) {
    for (const SeedRun& run : result.seeds) jobs = std::max(jobs, run.jobs);
    if (result.versus_best) differences.emplace_back(result.config, *result.versus_best);
    if (result.leaks()) lines.push_back(result.config + " " + leaks_label + "; its loss is not ranked");
    lines.push_back(clock_remark(result));
    lines.push_back(patience_remark(result));
    add_run_remarks(lines, result);
  }
  const std::string undecided = undecided_text(differences, comparison.level());
  if (!undecided.empty() && undecided != comparison.results[1].config)  // in the verdict already
    lines.push_back("not distinguishable from " + comparison.results[0].config + ": " + undecided);
  if (jobs > 1)
    lines.push_back(
        fmt::format("times with a *: up to {} runs trained at once; do not compare them with others", jobs));
  if (comparison.results[0].seeds.size() > 1) {
    lines.push_back(look_remark(comparison));
    if (comparison.pairs > 0)
      lines.push_back("±: 95 % interval over seeds on this text, corrected for " +
                      format_count(comparison.pairs, "pair") + " of configs");
  }
  std::erase(lines, "");
  return lines;
}

Table ranks_table(const Json& results, const Comparison& comparison) {
  const std::size_t beginning = common_beginning(comparison.results);
  const std::string config =
      beginning > 0 ? results[0]["config"].get<std::string>().substr(0, beginning - 1) : "config";
  const auto name = [beginning](const Json& row) { return row["config"].get<std::string>().substr(beginning); };
  std::vector<Column> columns = {{"rank", rank_cell},
                                 {config, name},
                                 {"loss", fixed("mean", 4)},
                                 {"std", fixed("spread", 4)},
                                 {"above best", difference_cell},
                                 {"p", p_cell},
                                 {"steps", cell("steps", whole)},
                                 {"tokens", cell("trained_tokens", format_short)},
                                 {"params", cell("params", format_short)},
                                 {"tokens/s", starred(cell("tokens_per_second", format_short))},
                                 {"seconds", starred(fixed("seconds", 1))}};
  if (!trained_unalike(results) && std::ranges::none_of(comparison.results, &ConfigRuns::by_clock))
    std::erase_if(columns,
                  [](const Column& column) { return column.heading == "steps" || column.heading == "tokens"; });
  Table table = table_of(results, columns);
  table.may_leave_out({"std", "tokens/s", "p", "params", "seconds", "tokens", "steps"});
  return table;
}

/// One row per value of each varied option.
Table effects_table(const Json& effects) {
  Json levels = Json::array();
  for (const Json& effect : effects) levels.insert(levels.end(), effect.begin(), effect.end());
  Table table = table_of(levels, {{"main effect", as_is("value")},
                                  {"mean loss", fixed("mean", 4)},
                                  {"above best", difference_cell},
                                  {"p", p_cell}});
  table.may_leave_out({"p"});
  return table;
}

Table target_table(const Json& results, double target) {
  const auto reached = [](const Json& row) {
    const Json& seeds = row["seeds_reached"];
    return seeds.is_null() ? "unknown" : fmt::format("{} of {}", seeds.dump(), row["seeds"].size());
  };
  return table_of(results, {{"config", as_is("config")},
                            {"reached " + format_fixed(target, 4), reached},
                            {"steps", cell("steps_to_target", whole)},
                            {"seconds", starred(fixed("seconds_to_target", 1))}});
}

}  // namespace

Json difference_json(const std::optional<MeanEstimate>& difference) {
  if (!difference) return nullptr;
  return {{"difference", difference->mean}, {"ci95", interval_json(difference->ci95)}, {"p", or_null(difference->p)}};
}

std::string undecided_text(const std::vector<NamedDifference>& differences, double level) {
  std::vector<std::string> each;
  for (const auto& [name, difference] : differences)
    if (difference.p && *difference.p > level) each.push_back(name);
  return joined(each, ", ");
}

Report report_of(const Comparison& comparison, const std::optional<LadderTable>& ladder) {
  Report report(Json{{"results", Json::array()}});
  Json& json = report.json;
  for (const ConfigRuns& result : comparison.results) json["results"].push_back(result_json(result, comparison));
  if (!comparison.effects.empty()) json["effects"] = effects_json(comparison);
  json["split"] = comparison.split;
  json["tokens"] = comparison.tokens;
  json["comparisons"] = comparison.pairs;
  json["look"] = comparison.look > 0 ? Json(comparison.look) : Json();
  json["level"] = comparison.level();
  if (comparison.target) json["target"] = *comparison.target;
  json["verdict"] = verdict(comparison);
  json["remarks"] = limits(comparison, json["results"]);

  report.add(ladder ? ladder->table : ranks_table(json["results"], comparison));
  std::string lines = "\n";
  if (!ladder && json["verdict"] != "") lines += json["verdict"].get<std::string>() + "\n";
  if (ladder)
    for (const std::string& remark : ladder->remarks) lines += "- " + remark + "\n";
  for (const Json& limit : json["remarks"]) lines += "- " + limit.get<std::string>() + "\n";
  if (lines.size() > 1) report.say(lines);
  const auto add_below = [&report](Table table) {
    report.draw("\n");
    report.add(std::move(table));
  };
  if (json.contains("effects")) add_below(effects_table(json["effects"]));
  if (comparison.target) add_below(target_table(json["results"], *comparison.target));
  if (ladder) json["ladder"] = ladder->json;
  return report;
}

}  // namespace chargpt
