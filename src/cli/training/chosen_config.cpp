#include "cli/training/chosen_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace chargpt {

std::vector<Override> with_minutes(std::vector<Override> given, double minutes, double used) {
  if (minutes == 0) return given;
  given.push_back({"train.max_seconds", nlohmann::json(used + 60 * minutes).dump(), "--minutes"});
  return given;
}

const TimedPreset& chosen_preset(double minutes, std::int64_t train_tokens, const StepsWithin& steps_within) {
  static const std::array table{TimedPreset{"half-hour", 1, 7500, 600'000, "11"},
                                TimedPreset{"five-minutes", 0.2, 2300, 300'000, "8"},
                                TimedPreset{"default", 0.03, 600, 0, "5"}, TimedPreset{"quick", 0, 0, 0, "5"}};
  return *std::ranges::find_if(table, [&](const TimedPreset& preset) {  // the last one always serves
    return minutes >= preset.least_minutes && train_tokens >= preset.tokens &&
           (preset.steps == 0 || steps_within(preset) >= preset.steps);
  });
}

}  // namespace chargpt
