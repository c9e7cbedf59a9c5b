// `compare ladder`: the teaching ladder climbed from a table of pairs to a transformer, and what each rung adds to the
// one below. Pure functions over a comparison; trains nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison_report.h"

namespace chargpt {

/// What the command line says for all rungs.
inline constexpr std::string_view ladder_word = "ladder";

struct Rung {
  std::string_view preset;  ///< "ladder/bigram"
  std::string_view lesson;  ///< at most 42 columns
};

/// In the order of the lesson.
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

/// A loss that needs no training, to measure the rungs by.
struct Counted {
  std::string name, about;
  double loss = 0;  ///< nats per token
};

/// A rung as it was trained.
struct ClimbedRung {
  Rung rung;
  const ConfigResult* result = nullptr;
  /// Its loss minus that of the rung below that has one and does not leak, paired, at 95 % for all steps together;
  /// absent for the first, and for a rung that leaks or failed.
  std::optional<MeanEstimate> step = {};
  std::string_view below = {};  ///< that rung's preset
};

/// The rungs among the results, which must outlive them, from the lowest.
std::vector<ClimbedRung> climb(const Comparison& comparison);

/// Within 80 columns: rung, loss, step, lesson; then what counting reaches. Its remarks say what a step is and which
/// steps cannot be told from none. {"rungs":[{"config","loss","leaks","versus_below":{"below","difference","ci95","p"}
/// or null,"lesson"}],"counted":[{"name","loss"}]}
LadderTable ladder_table(const Comparison& comparison, const std::vector<Counted>& counted);

}  // namespace chargpt
