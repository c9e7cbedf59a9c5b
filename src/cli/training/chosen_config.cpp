#include "cli/training/chosen_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"
#include "config/describe.h"
#include "report/format.h"

namespace chargpt {
namespace {

/// A preset is the best of this table from `steps` steps on (configs/README.md, "What to expect"), on texts of at least
/// `tokens` training tokens; `passes`: epochs before it overfits. Below `least_minutes` no machine is expected to
/// complete that many steps, so the preset is not tried.
struct Row {
  const char* preset;
  double least_minutes;
  std::int64_t steps, tokens, passes;
};

constexpr std::array table{Row{"half-hour", 1, 7500, 600'000, 11}, Row{"five-minutes", 0.2, 2600, 300'000, 7},
                           Row{"default", 0.03, 600, 0, 5}, Row{"quick", 0, 0, 0, 5}};

Override passes_of(const Row& row) {
  return {"train.max_epochs", std::to_string(row.passes), "--minutes"};
}

}  // namespace

std::vector<Override> with_minutes(std::vector<Override> given, double minutes, double used) {
  if (minutes == 0) return given;
  for (const Override& option : given)
    if (find_option(option.key) == find_option("max_seconds"))
      throw Error(ExitCode::usage, "--minutes and --max_seconds cannot be combined; remove one");
  given.push_back({"train.max_seconds", nlohmann::json(used + 60 * minutes).dump(), "--minutes"});
  return given;
}

ChosenConfig chosen_config(double minutes, std::int64_t train_tokens, const StepsWithin& steps_within) {
  const auto serves = [&](const Row& row) {
    return minutes >= row.least_minutes && train_tokens >= row.tokens &&
           (row.steps == 0 || steps_within(row.preset, passes_of(row)) >= row.steps);
  };
  const Row& row = *std::ranges::find_if(table, serves);  // the last row always does
  return {row.preset, passes_of(row)};
}

std::string chosen_text(const ChosenConfig& chosen, double minutes, std::int64_t train_tokens) {
  return "chose " + chosen.preset + ": the best preset for " + format_duration(60 * minutes) + " of this machine and " +
         format_count(train_tokens) + " training tokens";
}

}  // namespace chargpt
