#include "experiment/compare/equal_length.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/format.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

std::int64_t updates_of_tokens(double tokens, const Config& config) {
  return std::max<std::int64_t>(1, std::llround(tokens / static_cast<double>(tokens_per_step(config))));
}

double to_milliseconds(double seconds) {
  return std::max(0.001, std::round(1000 * seconds) / 1000);
}

void set_limit(ResolvedConfig& resolved, const std::string& option, const nlohmann::json& value) {
  apply_overrides(resolved, std::vector<Override>{{option, value.dump(), "--equal"}});
}

}  // namespace

std::optional<Length> known_length(const ResolvedConfig& first, Equal equal, std::int64_t train_tokens) {
  const TrainConfig& train = first.config.train;
  const std::vector<std::string> limits = length_limits(first);
  if (equal == Equal::seconds) {
    if (limits != std::vector<std::string>{seconds_key}) return std::nullopt;
    return Length{.seconds = train.max_seconds};
  }
  if (needs_pace(limits)) return std::nullopt;
  std::int64_t updates = train.max_iters;
  for (const std::string& limit : limits)
    if (limit == "train.max_epochs") {
      const std::int64_t steps = steps_of_epochs(first.config, train_tokens);
      updates = limits.size() == 1 ? steps : std::min(updates, steps);
    }
  return Length{.updates = updates};
}

std::string equalise(std::vector<ResolvedConfig>& configs, Equal equal, const Length& length) {
  const Config& first = configs.front().config;
  const double tokens = static_cast<double>(length.updates) * static_cast<double>(tokens_per_step(first));
  const double seconds = to_milliseconds(length.seconds);
  for (std::size_t i = 1; i < configs.size(); ++i) {
    if (equal == Equal::updates) set_limit(configs[i], "train.max_iters", length.updates);
    if (equal == Equal::tokens) set_limit(configs[i], "train.max_iters", updates_of_tokens(tokens, configs[i].config));
    if (equal == Equal::seconds) set_limit(configs[i], "train.max_seconds", seconds);
  }
  const std::string as_first = ", as many as " + first.name;
  if (equal == Equal::updates) return "equal updates: every config makes " + format_count(length.updates) + as_first;
  if (equal == Equal::tokens)
    return "equal tokens: every config sees " + format_count(std::llround(tokens)) + as_first +
           ", to the nearest update";
  return "equal seconds: every config trains for " + format_fixed(seconds, 1) + " s" + as_first +
         "; times differ with the machine and what else it does";
}

}  // namespace chargpt
