#include "experiment/compare/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <utility>

#include "experiment/compare/tuned_rates.h"
#include "report/csv.h"
#include "report/format.h"

namespace chargpt {
namespace {

double mean_over(const ConfigRuns& runs, double SeedRun::*figure) {
  const double sum = std::accumulate(runs.seeds.begin(), runs.seeds.end(), 0.0,
                                     [figure](double so_far, const SeedRun& run) { return so_far + run.*figure; });
  return sum / static_cast<double>(runs.seeds.size());
}

template <class Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// Adds "ci95", and "ci95_reason" where it is null.
void add_interval(nlohmann::ordered_json& json, const Confidence& ci95) {
  json["ci95"] = nullptr;
  if (ci95.interval)
    json["ci95"] = {ci95.interval->low, ci95.interval->high};
  else
    json["ci95_reason"] = ci95.reason;
}

nlohmann::ordered_json claim_json(const Claim& claim) {
  nlohmann::ordered_json json;
  add_interval(json, claim.ci95);
  json["p"] = or_null(claim.p);
  return json;
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
    if (run.steps > 0) json["updates"] = run.steps;
    json["ended"] = enum_name(run.ended);
    json["scored"] = run.scored == ScoredAt::end ? "end" : "best";
    if (std::isfinite(run.lowest_loss)) json["lowest"] = {{"loss", run.lowest_loss}, {"step", run.lowest_step}};
  } else {
    json["failure"] = run.failure;
  }
  return json;
}

/// {"step","seconds"}, or null where the run never came so far.
nlohmann::ordered_json reached_json(const std::optional<ReachedTarget>& reached) {
  if (!reached) return nullptr;
  return {{"step", reached->step}, {"seconds", reached->seconds}};
}

nlohmann::ordered_json result_json(const ConfigResult& result, bool has_target) {
  nlohmann::ordered_json json = {{"config", result.runs.config}, {"params", result.runs.params}};
  json["block_size"] = result.runs.block_size;
  json["seeds"] = nlohmann::ordered_json::array();
  for (const SeedRun& run : result.runs.seeds) {
    json["seeds"].push_back(seed_json(run));
    if (has_target) json["seeds"].back()["target"] = reached_json(run.reached);
  }
  json["mean"] = result.mean.mean;
  add_interval(json, result.mean.more_text.ci95);
  add_interval(json["this_text"], result.mean.this_text.ci95);
  json["spread"] = or_null(result.mean.deviation);
  json["rank"] = result.rank > 0 ? nlohmann::ordered_json(result.rank) : nlohmann::ordered_json();
  json["versus_best"] = difference_json(result.versus_best);
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

std::string interval_cell(const Confidence& ci95) {
  if (!ci95.interval) return "cannot say";
  return format_fixed(ci95.interval->low, 4) + " to " + format_fixed(ci95.interval->high, 4);
}

std::int64_t most_jobs(const ConfigRuns& runs) {
  std::int64_t jobs = 1;
  for (const SeedRun& run : runs.seeds) jobs = std::max(jobs, run.jobs);
  return jobs;
}

/// "0.0123 ± 0.0045", or the first alone.
std::string difference_cell(double difference, const Confidence& ci95) {
  std::string cell = format_fixed(difference, 4);
  if (ci95.interval) cell += " ± " + format_fixed((ci95.interval->high - ci95.interval->low) / 2, 4);
  return cell;
}

std::vector<std::string> narrow_row_of(const ConfigResult& result) {
  const std::optional<MeanEstimate>& versus = result.versus_best;
  const Confidence& ci95 = !versus                ? Confidence{}
                           : versus->weights_only ? versus->more_text.ci95
                                                  : versus->this_text.ci95;
  return {rank_cell(result),
          result.runs.config,
          format_fixed(result.mean.mean, 4),
          result.mean.deviation ? format_fixed(*result.mean.deviation, 4) : "",
          versus ? difference_cell(versus->mean, ci95) : "",
          format_short(static_cast<double>(result.runs.params)),
          format_fixed(mean_over(result.runs, &SeedRun::seconds), 1) + (most_jobs(result.runs) > 1 ? "*" : "")};
}

Table narrow_table(const Comparison& comparison) {
  const bool seeds =
      std::ranges::any_of(comparison.results, [](const ConfigResult& result) { return result.runs.seeds.size() > 1; });
  const auto shown = [seeds](std::vector<std::string> cells) {
    if (!seeds) cells.erase(cells.begin() + 3);  // no spread of one seed
    return cells;
  };
  Table table(shown({"rank", "config", "loss", "spread", seeds ? "above best, this text" : "above best, more text",
                     "params", "seconds"}));
  for (const ConfigResult& result : comparison.results) table.add(shown(narrow_row_of(result)));
  return table;
}

std::vector<std::string> row_of(const ConfigResult& result) {
  const std::optional<MeanEstimate>& versus = result.versus_best;
  const std::string mark = most_jobs(result.runs) > 1 ? "*" : "";
  return {rank_cell(result),
          result.runs.config,
          format_fixed(result.mean.mean, 4),
          result.mean.deviation ? format_fixed(*result.mean.deviation, 4) : "",
          interval_cell(result.mean.more_text.ci95),
          versus ? format_fixed(versus->mean, 4) : "",
          versus ? interval_cell(versus->this_text.ci95) : "",
          versus && versus->this_text.p ? p_cell(*versus->this_text.p) : "",
          versus ? interval_cell(versus->more_text.ci95) : "",
          format_count(result.runs.params),
          format_short(mean_over(result.runs, &SeedRun::tokens_per_second)) + mark,
          format_fixed(mean_over(result.runs, &SeedRun::seconds), 1) + mark};
}

/// The noisiest of the paired differences decides what these seeds would show everywhere in the table.
std::optional<SeedsDesign> design_of(const Comparison& comparison) {
  std::optional<SeedsDesign> design;
  for (const ConfigResult& result : comparison.results)
    if (result.versus_best && result.versus_best->deviation) {
      if (!design) design = {.seeds = std::ssize(result.runs.seeds), .comparisons = comparison.pairs};
      design->deviation = std::max(design->deviation, *result.versus_best->deviation);
    }
  return design;
}

constexpr double small_difference = 0.01;

std::string power_remark(const SeedsDesign& design) {
  const auto needed = seeds_to_show(small_difference, design.deviation, design.comparisons);
  return "if seeds differ as they did here, 80 of 100 such comparisons show a difference of " +
         format_fixed(*shown_difference(design), 4) + " on this text with " + std::to_string(design.seeds) +
         " seeds, and one of 0.01 with " + (needed ? std::to_string(*needed) : "more than 1,000") + " seeds";
}

nlohmann::ordered_json power_json(const SeedsDesign& design) {
  return {{"power", 0.8},
          {"deviation", design.deviation},
          {"shown_difference", *shown_difference(design)},
          {"difference", small_difference},
          {"seeds", or_null(seeds_to_show(small_difference, design.deviation, design.comparisons))}};
}

std::string seeds_remark(std::size_t seeds, bool trained_before) {
  if (seeds == 1)
    return "this text: cannot say: one seed does not tell how seeds differ; " +
           std::string(trained_before ? "runs of the same configs with more seeds would"
                                      : "--seeds 3 trains each config three times") +
           ". more text: these very weights, not the configs, on more text of this kind";
  return "this text: over other seeds, on this very text (Student's t over " + std::to_string(seeds) +
         " seeds, paired). more text: over other seeds and more text of this kind, which no number of seeds narrows "
         "beyond the text's own part";
}

std::string pairs_remark(std::int64_t pairs) {
  return "the best was chosen by these very losses: differences are at 95 % for all " + std::to_string(pairs) +
         " pairs of configs together";
}

/// Why there are no intervals for more text: in one line where all have the same reason.
void add_reasons(std::vector<std::string>& lines, const Comparison& comparison) {
  std::vector<std::pair<std::string, std::string>> reasons;
  std::size_t claims = 0;
  const auto look = [&](const std::string& about, const Confidence& ci95) {
    ++claims;
    if (!ci95.interval) reasons.emplace_back(about, ci95.reason);
  };
  for (const ConfigResult& result : comparison.results) {
    if (!failed(result.runs)) look(result.runs.config, result.mean.more_text.ci95);
    if (result.versus_best) look(result.runs.config + " above best", result.versus_best->more_text.ci95);
  }
  const bool same = std::ranges::all_of(reasons, [&](const auto& one) { return one.second == reasons[0].second; });
  if (same && reasons.size() == claims && claims > 1) {
    lines.push_back("more text: cannot say: " + reasons[0].second);
    return;
  }
  for (const auto& [about, reason] : reasons) lines.push_back(about + ", more text: cannot say: " + reason);
}

void add_undecided(std::vector<std::string>& lines, const Comparison& comparison) {
  std::vector<Undecided> undecided;
  for (const ConfigResult& result : comparison.results)
    if (result.versus_best && !is_told_apart(*result.versus_best))
      undecided.push_back({result.runs.config, *result.versus_best, comparison.pairs});
  if (!undecided.empty())
    lines.push_back("not distinguishable from " + comparison.results[0].runs.config +
                    " on this text: " + undecided_text(undecided));
}

/// "about 9 seeds would tell"
std::string seeds_that_tell(const Undecided& undecided) {
  const MeanEstimate& difference = undecided.difference;
  if (difference.mean == 0) return "equal";
  const auto seeds = seeds_to_show(std::abs(difference.mean), *difference.deviation, undecided.comparisons);
  return format_fixed(std::abs(difference.mean), 4) + " apart, " +
         (seeds ? "about " + std::to_string(*seeds) + " seeds would tell" : "1,000 seeds would not tell");
}

void add_what_was_scored(std::vector<std::string>& lines, const ConfigRuns& runs, bool trained_before) {
  constexpr double clearly = 0.02;
  for (const SeedRun& run : runs.seeds) {
    if (!run.failure.empty()) continue;
    const std::string name = runs.config + " with seed " + std::to_string(run.seed);
    if (run.scored == ScoredAt::best && !trained_before)
      lines.push_back(name +
                      " was scored by an earlier program, at the lowest of its evaluations on this very split: "
                      "that flatters it beside runs that are scored at their end; another --out trains it again");
    if (run.scored == ScoredAt::end && run.lowest_loss < run.loss - clearly)
      lines.push_back(name + " overfitted: " + format_fixed(run.lowest_loss, 4) + " after step " +
                      std::to_string(run.lowest_step) + ", " + format_fixed(run.loss, 4) +
                      " at its end; a shorter run or more dropout is likely to score better");
  }
}

/// "default: 2 of 3 seeds ended by patience": the schedules of such runs were not gone through.
std::string ended_early(const ConfigRuns& runs) {
  std::string line;
  for (const Ending ending : {Ending::patience, Ending::seconds}) {
    const auto count = std::count_if(runs.seeds.begin(), runs.seeds.end(),
                                     [ending](const SeedRun& run) { return run.ended == ending; });
    if (count == 0) continue;
    line += (line.empty() ? runs.config + ": " : ", ") + std::to_string(count) + " of " +
            std::to_string(runs.seeds.size()) + (runs.seeds.size() == 1 ? " seed" : " seeds") + " ended by " +
            (ending == Ending::seconds ? "max_seconds" : "patience, which looked at this very split") +
            ", before the schedule did";
  }
  return line;
}

/// "1,200" or, where seeds differ, "1,150 to 1,200"; empty where it is not known.
std::string steps_of(const ConfigRuns& runs) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (const SeedRun& run : runs.seeds) {
    least = std::min(least, run.steps);
    most = std::max(most, run.steps);
  }
  if (most == 0 || least == 0) return "";
  return least == most ? format_count(most) : format_count(least) + " to " + format_count(most);
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

/// With all its digits; empty where it is not a finite number.
std::string number(double value) {
  return std::isfinite(value) ? nlohmann::json(value).dump() : "";
}

void add_claim(std::vector<std::string>& fields, const Claim& claim, bool with_p) {
  fields.push_back(claim.ci95.interval ? number(claim.ci95.interval->low) : "");
  fields.push_back(claim.ci95.interval ? number(claim.ci95.interval->high) : "");
  if (with_p) fields.push_back(claim.p ? number(*claim.p) : "");
}

std::vector<std::string> csv_row(const ConfigResult& result, const SeedRun& run) {
  const bool scored = run.failure.empty();
  const auto count = [](std::int64_t value) { return std::to_string(value); };
  std::vector<std::string> fields = {csv_field(result.runs.config),
                                     result.rank > 0 ? count(result.rank) : "",
                                     result.runs.leaks ? "true" : "false",
                                     count(result.runs.params),
                                     count(result.runs.block_size),
                                     count(run.seed),
                                     scored ? number(run.loss) : "",
                                     number(run.seconds),
                                     number(run.tokens_per_second),
                                     count(run.jobs),
                                     scored ? count(run.step) : "",
                                     run.steps > 0 ? count(run.steps) : "",
                                     scored ? std::string(enum_name(run.ended)) : "",
                                     scored ? (run.scored == ScoredAt::end ? "end" : "best") : "",
                                     number(run.lowest_loss),
                                     std::isfinite(run.lowest_loss) ? count(run.lowest_step) : "",
                                     csv_field(run.failure),
                                     csv_field(run.run.string()),
                                     number(result.mean.mean),
                                     result.mean.deviation ? number(*result.mean.deviation) : ""};
  add_claim(fields, result.mean.this_text, false);
  add_claim(fields, result.mean.more_text, false);
  const MeanEstimate none;
  fields.push_back(result.versus_best ? number(result.versus_best->mean) : "");
  add_claim(fields, result.versus_best.value_or(none).this_text, true);
  add_claim(fields, result.versus_best.value_or(none).more_text, true);
  fields.push_back(run.reached ? count(run.reached->step) : "");
  fields.push_back(run.reached ? number(run.reached->seconds) : "");
  return fields;
}

}  // namespace

nlohmann::ordered_json difference_json(const std::optional<MeanEstimate>& difference) {
  if (!difference) return nullptr;
  nlohmann::ordered_json json = {{"difference", difference->mean}};
  json.update(claim_json(difference->more_text));
  json["this_text"] = claim_json(difference->this_text);
  return json;
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  nlohmann::ordered_json json = {{"results", nlohmann::ordered_json::array()}};
  for (const ConfigResult& result : comparison.results)
    json["results"].push_back(result_json(result, comparison.target.has_value()));
  json["split"] = "val";
  json["tokens"] = comparison.tokens;
  json["comparisons"] = comparison.pairs;
  if (comparison.target) json["target"] = *comparison.target;
  for (const TunedRate& rate : comparison.rates) json["tuned_rates"].push_back(to_json(rate));
  if (const auto design = design_of(comparison)) json["seeds_needed"] = power_json(*design);
  json["remarks"] = remarks(comparison);
  return json;
}

Table to_table(const Comparison& comparison, bool narrow) {
  if (narrow) return narrow_table(comparison);
  Table table({"rank", "config", "loss", "spread", "95 %, more text", "above best", "95 %, this text", "p, this text",
               "95 %, more text", "parameters", "tokens/s", "seconds"});
  for (const ConfigResult& result : comparison.results) table.add(row_of(result));
  return table;
}

std::string to_csv(const Comparison& comparison) {
  constexpr std::string_view headings =
      "config,rank,leaks,params,block_size,seed,loss,seconds,tokens_per_second,jobs,step,updates,ended,scored,"
      "lowest_loss,lowest_step,failure,run,mean,spread,this_text_low,this_text_high,more_text_low,more_text_high,"
      "above_best,above_best_this_text_low,above_best_this_text_high,above_best_this_text_p,"
      "above_best_more_text_low,above_best_more_text_high,above_best_more_text_p,target_step,target_seconds";
  std::string rows = std::string(headings) + "\n";
  for (const ConfigResult& result : comparison.results)
    for (const SeedRun& run : result.runs.seeds) rows += joined(csv_row(result, run), ",") + "\n";
  return rows;
}

bool is_told_apart(const MeanEstimate& difference) {
  const std::optional<Interval>& interval = difference.this_text.ci95.interval;
  return !interval || !difference.deviation || interval->low > 0 || interval->high < 0;
}

std::string undecided_text(const std::vector<Undecided>& differences) {
  std::vector<std::string> each;
  for (const Undecided& undecided : differences)
    each.push_back(undecided.name + " (" + seeds_that_tell(undecided) + ")");
  return joined(each, ", ") + "; that is, in 80 of 100 comparisons, if a difference is as large as it looks here";
}

std::vector<std::string> remarks(const Comparison& comparison) {
  std::vector<std::string> lines;
  if (comparison.results.empty()) return lines;
  lines.push_back(seeds_remark(comparison.results[0].runs.seeds.size(), comparison.trained_before));
  if (comparison.pairs > 1) lines.push_back(pairs_remark(comparison.pairs));
  add_undecided(lines, comparison);
  if (const auto design = design_of(comparison)) lines.push_back(power_remark(*design));
  add_reasons(lines, comparison);
  for (std::string& line : run_remarks(comparison)) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> run_remarks(const Comparison& comparison) {
  std::vector<std::string> lines = comparison.notes;
  if (!comparison.rates.empty()) {
    std::vector<std::string> rates;
    for (const TunedRate& rate : comparison.rates) rates.push_back(describe(rate));
    lines.push_back("learning rates chosen with a seed that is not compared, on a part held out of the train split: " +
                    joined(rates, "; "));
  }
  lines.emplace_back(
      comparison.trained_before
          ? "each run is scored at its best checkpoint, chosen by its evaluations on this very split: that flatters a "
            "run the more, the more often it was evaluated"
          : "each run is scored with the weights that it ended with (averaged ones with train.ema), not with its best "
            "checkpoint, which this split would have chosen");
  std::int64_t jobs = 1;
  for (const ConfigResult& result : comparison.results) jobs = std::max(jobs, most_jobs(result.runs));
  if (jobs > 1)
    lines.push_back("* up to " + std::to_string(jobs) +
                    " trainings shared the machine: do not compare these times and speeds with others");
  for (const ConfigResult& result : comparison.results) {
    add_what_was_scored(lines, result.runs, comparison.trained_before);
    if (result.runs.leaks) lines.push_back(result.runs.config + " " + leaks_label + "; its loss is not ranked");
    for (const SeedRun& run : result.runs.seeds)
      if (!run.failure.empty())
        lines.push_back(result.runs.config + " with seed " + std::to_string(run.seed) + ": " + run.failure);
    if (const std::string early = ended_early(result.runs); !early.empty()) lines.push_back(early);
  }
  if (const std::string steps = steps_remark(comparison); !steps.empty()) lines.push_back(steps);
  return lines;
}

}  // namespace chargpt
