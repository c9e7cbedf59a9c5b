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

LadderTable ladder_table(const Comparison& comparison, const std::vector<Counted>& counted) {
  LadderTable ladder{.table = Table({"model", "loss", "step", "what it shows"}),
                     .remarks = {"step: loss minus that of the model above that does not leak; nats per token"},
                     .json = {{"rungs", Json::array()}, {"counted", Json::array()}}};
  std::vector<NamedDifference> steps;
  for (const ClimbedRung& rung : climb(comparison)) {
    const ConfigResult& result = *rung.result;
    const std::string name = short_name(rung.rung.preset), lesson(rung.rung.lesson);
    ladder.table.add({name + (result.runs.leaks ? " (leaks)" : ""),
                      std::isfinite(result.mean.mean) ? format_fixed(result.mean.mean, 4) : "failed",
                      rung.step ? fmt::format("{:+.4f}", rung.step->mean) : "", lesson});
    Json& row = ladder.json["rungs"].emplace_back(Json{{"config", rung.rung.preset},
                                                       {"loss", result.mean.mean},
                                                       {"leaks", result.runs.leaks},
                                                       {"versus_below", difference_json(rung.step)},
                                                       {"lesson", lesson}});
    if (!rung.step) continue;
    row["versus_below"]["below"] = rung.below;
    steps.emplace_back(name + " from " + short_name(rung.below), *rung.step);
  }
  for (const Counted& count : counted) {
    ladder.table.add({count.name, format_fixed(count.loss, 4), "", count.about});
    ladder.json["counted"].push_back({{"name", count.name}, {"loss", count.loss}});
  }
  if (const std::string undecided = undecided_text(steps, first_look_level); !undecided.empty())
    ladder.remarks.push_back("steps that may be chance: " + undecided);
  if (std::ranges::any_of(steps, [](const NamedDifference& step) { return !step.second.p; }))
    ladder.remarks.emplace_back("one seed cannot rule out chance: compare ladder --seeds 3");
  return ladder;
}

}  // namespace chargpt
