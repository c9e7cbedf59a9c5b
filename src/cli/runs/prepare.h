// What `eval` and `score` work with, made from their options: the runs, the text that is scored, the text that they
// have learned from, and a predictor that --adapt and --counts have had their part in.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/runs/adaptation.h"
#include "cli/runs/figures.h"
#include "cli/runs/joined_runs.h"
#include "evaluate/split_loss.h"
#include "text/corpus.h"

namespace chargpt {

struct ScoringArguments : JoinedArguments {
  std::vector<std::string> text;  ///< to score; none: the runs' own
  bool whole = false;             ///< the text is not split: its documents stay in their order
  std::string split;              ///< train, val, test or all; empty: val of the runs' own text, all of another
  std::int64_t stride = 0;        ///< of overlapping windows; 0: no overlap, with --adapt half a window
  AdaptArguments adapt;
};
/// --counts, --adapt, --unknown and those of add_model_arguments.
void add_scoring_arguments(Options& options, ScoringArguments& arguments, AdaptTakes takes);

struct Prepared {
  JoinedRuns runs;
  Corpus corpus;                      ///< what is scored is a part of this
  bool own = false;                   ///< the runs have learned from this very text, under whatever name
  std::optional<Corpus> other = {};   ///< where they have not: the one that they have learned from
  std::string no_training_text = {};  ///< why that is not at hand
  Scored scored = {};                 ///< and how
  std::optional<AdaptationChoice> adapted = {};

  const Corpus* trained_on() const { return own ? &corpus : other ? &*other : nullptr; }
};

/// The training text is looked for where something is learned from it, else up to `most_searched` tokens. Errors: as
/// load_runs and load_corpus; usage for a text that only some of several runs have learned from, data for a split of
/// fewer than two tokens.
Prepared prepare(const ScoringArguments& arguments, WorkLine& line,
                 std::int64_t most_searched = std::numeric_limits<std::int64_t>::max());

/// By prepared.runs.predictor(), which with --adapt learns from what it scores. Error diverged, naming the checkpoint,
/// for a loss that is not finite.
SplitLoss score(Prepared& prepared, const Heartbeat& heartbeat);

}  // namespace chargpt
