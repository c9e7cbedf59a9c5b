#include "compare/ladder.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/comparison_report.h"
#include "report/format.h"

namespace chargpt {
namespace {

std::string short_name(std::string_view preset) {
  return std::string(preset.substr(preset.find('/') + 1));
}

std::string signed_loss(double difference) {
  return (difference < 0 ? "" : "+") + format_fixed(difference, 4);
}

}  // namespace

std::vector<ClimbedRung> climb(const Comparison& comparison) {
  std::vector<ClimbedRung> rungs;
  for (const Rung& rung : ladder) {
    const auto found = std::ranges::find_if(
        comparison.results, [&rung](const ConfigResult& result) { return result.runs.config == rung.preset; });
    if (found != comparison.results.end()) rungs.push_back({.rung = rung, .result = &*found});
  }
  const auto steps = std::ranges::count_if(rungs, [](const ClimbedRung& rung) { return can_be_ranked(*rung.result); });
  const ClimbedRung* below = nullptr;
  for (ClimbedRung& rung : rungs) {
    if (!can_be_ranked(*rung.result)) continue;
    if (below != nullptr) {
      rung.step = paired_difference(losses_of(rung.result->runs), losses_of(below->result->runs), steps - 1);
      rung.below = below->rung.preset;
    }
    below = &rung;
  }
  return rungs;
}

Table to_table(const std::vector<ClimbedRung>& rungs, const std::vector<Counted>& counted) {
  Table table({"model", "loss", "step", "what it shows"});
  for (const ClimbedRung& rung : rungs) {
    const ConfigResult& result = *rung.result;
    table.add({short_name(rung.rung.preset) + (result.runs.leaks ? " (leaks)" : ""),
               std::isfinite(result.mean.mean) ? format_fixed(result.mean.mean, 4) : "failed",
               rung.step ? signed_loss(rung.step->mean) : "", std::string(rung.rung.lesson)});
  }
  for (const Counted& count : counted) table.add({count.name, format_fixed(count.loss, 4), "", count.about});
  return table;
}

std::vector<std::string> remarks(const std::vector<ClimbedRung>& rungs) {
  std::vector<std::string> lines = {"step: loss minus that of the model above that does not leak; nats per token"};
  std::vector<NamedDifference> steps;
  for (const ClimbedRung& rung : rungs)
    if (rung.step) steps.emplace_back(short_name(rung.rung.preset) + " from " + short_name(rung.below), *rung.step);
  if (const std::string undecided = undecided_text(steps, first_look_level); !undecided.empty())
    lines.push_back("steps that may be chance: " + undecided);
  if (std::ranges::any_of(steps, [](const NamedDifference& step) { return !step.second.p; }))
    lines.emplace_back("one seed cannot show which steps are luck: compare ladder --seeds 3");
  return lines;
}

nlohmann::ordered_json to_json(const std::vector<ClimbedRung>& rungs, const std::vector<Counted>& counted) {
  nlohmann::ordered_json json = {{"rungs", nlohmann::ordered_json::array()},
                                 {"counted", nlohmann::ordered_json::array()}};
  for (const ClimbedRung& rung : rungs) {
    nlohmann::ordered_json row = {{"config", rung.rung.preset}, {"loss", rung.result->mean.mean}};
    row["leaks"] = rung.result->runs.leaks;
    row["versus_below"] = difference_json(rung.step);
    if (rung.step) row["versus_below"]["below"] = rung.below;
    row["lesson"] = rung.rung.lesson;
    json["rungs"].push_back(std::move(row));
  }
  for (const Counted& count : counted) json["counted"].push_back({{"name", count.name}, {"loss", count.loss}});
  return json;
}

}  // namespace chargpt
