#include "experiment/compare/lengths.h"

#include <algorithm>

#include "base/names.h"
#include "report/format.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

constexpr std::size_t most_listed = 4;

/// How long one config trains; `steps` is 0 where only a clock will tell.
struct Extent {
  std::int64_t steps = 0, tokens = 0;
  double seconds = 0;
};

Extent extent_of(const ResolvedConfig& resolved, std::int64_t train_tokens) {
  const TrainConfig& train = resolved.config.train;
  const std::vector<std::string> limits = length_limits(resolved);
  if (needs_pace(limits)) return {.seconds = train.max_seconds};
  std::int64_t steps = train.max_iters;
  if (std::ranges::count(limits, "train.max_epochs") > 0) {
    const std::int64_t of_epochs = steps_of_epochs(resolved.config, train_tokens);
    steps = limits.size() == 1 ? of_epochs : std::min(steps, of_epochs);
  }
  return {.steps = steps, .tokens = steps * tokens_per_step(resolved.config)};
}

/// "a 1.20M, b 3.10M"; of many configs the first few.
template <class Text>
std::string listed(const std::vector<Extent>& extents, const std::vector<std::string>& names, const Text& text) {
  std::vector<std::string> each;
  for (std::size_t i = 0; i < std::min(extents.size(), most_listed); ++i)
    each.push_back(names[i] + " " + text(extents[i]));
  return joined(each, ", ") + (extents.size() > most_listed ? ", …" : "");
}

}  // namespace

std::string length_difference(const std::vector<ResolvedConfig>& configs, const std::vector<std::string>& names,
                              std::int64_t train_tokens) {
  std::vector<Extent> extents;
  for (const ResolvedConfig& config : configs) extents.push_back(extent_of(config, train_tokens));
  const auto differ = [&](auto Extent::*figure) {
    return std::ranges::any_of(extents, [&](const Extent& one) { return one.*figure != extents.front().*figure; });
  };
  const auto in_seconds = [](const Extent& one) {
    return one.seconds > 0 ? format_duration(one.seconds) : format_short(static_cast<double>(one.tokens)) + " tokens";
  };
  if (differ(&Extent::seconds))
    return "configs differ in length: " + listed(extents, names, in_seconds) +
           "; give --max_iters or --max_seconds to make them equal";
  if (differ(&Extent::tokens))
    return "configs differ in training tokens: " +
           listed(extents, names, [](const Extent& one) { return format_short(static_cast<double>(one.tokens)); }) +
           (differ(&Extent::steps) ? "; give --max_iters or --max_seconds to make them equal"
                                   : "; they make equally many steps, and --max_seconds gives them equal time");
  if (differ(&Extent::steps))
    return "configs differ in steps: " +
           listed(extents, names, [](const Extent& one) { return format_count(one.steps); }) +
           "; they see equally many training tokens";
  return "";
}

}  // namespace chargpt
