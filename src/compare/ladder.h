// `compare ladder`: the teaching presets (rungs) from a bigram table to a transformer, and what each one adds to the
// one below. Pure functions over a comparison.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison_report.h"

namespace chargpt {

/// The argument of `compare` that means all rungs.
inline constexpr std::string_view ladder_word = "ladder";

struct Rung {
  std::string_view preset;  ///< "ladder/bigram"
  std::string_view lesson;  ///< at most 42 columns
};

/// In teaching order.
inline constexpr Rung ladder[] = {
    {"ladder/bigram", "the last character alone: a table of pairs"},
    {"ladder/average", "sees its own target: low, but meaningless"},
    {"ladder/average-causal", "the past without order: worse than pairs"},
    {"ladder/masked", "unscaled scores: attends to itself alone"},
    {"ladder/attention", "one head, which learns where to look"},
    {"ladder/attention-multihead", "four heads for the same width"},
    {"ladder/transformer", "layers, residual sums, norms, and an MLP"},
    {"ladder/post-norm", "the original block: norm after each sum"},
};

/// The loss of a counting baseline, for comparison with the rungs.
struct Counted {
  std::string name, about;
  double loss = 0;  ///< nats per token
};

/// Within 80 columns: the trained rungs, lowest first, with loss, step and lesson; then the counting baselines. A step
/// is the paired difference to the next lower ranked rung, with a joint 95 % interval over all steps; rungs that leak
/// or failed have none. Remarks list steps that may be chance.
/// {"rungs":[{"config","loss","leaks","versus_below":{"below","difference","ci95","p"} or
/// null,"lesson"}],"counted":[{"name","loss"}]}
LadderTable ladder_table(const Comparison& comparison, const std::vector<Counted>& counted);

}  // namespace chargpt
