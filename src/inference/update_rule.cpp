#include "inference/update_rule.h"

#include <array>

#include "base/error.h"

namespace chargpt {
namespace {

struct RuleRow {
  UpdateRule rule;
  MomentsKept moments;
  std::int64_t dimensions;  ///< that a parameter must have; 0: any
};
constexpr std::array rules{
    RuleRow{UpdateRule::adamw, {.first = true, .second = true}, 0},
    RuleRow{UpdateRule::muon, {.first = true, .second = false}, 2},
};

const RuleRow& row_of(UpdateRule rule) {
  for (const RuleRow& row : rules)
    if (row.rule == rule) return row;
  throw Error(ExitCode::internal, "an update rule without a row in update_rule.cpp");
}

}  // namespace

MomentsKept moments_kept(UpdateRule rule) {
  return row_of(rule).moments;
}

bool updates_dimensions(UpdateRule rule, std::int64_t dimensions) {
  const std::int64_t wanted = row_of(rule).dimensions;
  return wanted == 0 || wanted == dimensions;
}

}  // namespace chargpt
