#include "compare/ladder.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "report/format.h"

namespace chargpt {
namespace {

std::string short_name(std::string_view preset) {
  return std::string(preset.substr(preset.find('/') + 1));
}

}  // namespace

LadderTable ladder_table(const Comparison& comparison, const std::vector<Counted>& counted) {
  LadderTable table{.table = Table({"model", "loss", "step", "what it shows"}),
                    .remarks = {"step: loss minus that of the model above that does not leak; nats per token"},
                    .json = {{"rungs", Json::array()}, {"counted", Json::array()}}};
  const std::vector<ConfigRuns>& results = comparison.results;
  const std::int64_t most_steps = std::ranges::count_if(results, can_be_ranked) - 1;
  const ConfigRuns* below = nullptr;  // the next lower rung that is ranked
  std::vector<NamedDifference> steps;
  for (const Rung& rung : ladder) {
    const auto result = std::ranges::find(results, rung.preset, &ConfigRuns::config);
    if (result == results.end()) continue;
    const std::string name = short_name(rung.preset), lesson(rung.lesson);
    std::optional<MeanEstimate> step;
    if (below != nullptr && can_be_ranked(*result))
      step = paired_difference(losses_of(*result), losses_of(*below), most_steps);
    table.table.add({name + (result->leaks() ? " (leaks)" : ""),
                     std::isfinite(result->mean.mean) ? format_fixed(result->mean.mean, 4) : "failed",
                     step ? fmt::format("{:+.4f}", step->mean) : "", lesson});
    Json& row = table.json["rungs"].emplace_back(Json{{"config", rung.preset},
                                                      {"loss", result->mean.mean},
                                                      {"leaks", result->leaks()},
                                                      {"versus_below", difference_json(step)},
                                                      {"lesson", lesson}});
    if (step) row["versus_below"]["below"] = below->config;
    if (step) steps.emplace_back(name + " from " + short_name(below->config), *step);
    if (can_be_ranked(*result)) below = &*result;
  }
  for (const Counted& count : counted) {
    table.table.add({count.name, format_fixed(count.loss, 4), "", count.about});
    table.json["counted"].push_back({{"name", count.name}, {"loss", count.loss}});
  }
  if (const std::string undecided = undecided_text(steps, comparison.level()); !undecided.empty())
    table.remarks.push_back("steps that may be chance: " + undecided);
  if (std::ranges::any_of(steps, [](const NamedDifference& step) { return !step.second.p; }))
    table.remarks.emplace_back("one seed cannot rule out chance: compare ladder --seeds 3");
  return table;
}

}  // namespace chargpt
