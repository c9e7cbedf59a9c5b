// Prepares `eval` and `score` from their options: the runs, the text to score, the training text, and the predictor
// with --adapt and --counts applied.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "cli/runs/figures.h"
#include "cli/runs/joined_runs.h"
#include "evaluate/split_loss.h"
#include "text/corpus.h"

namespace chargpt {

struct ScoringArguments : JoinedArguments {
  std::vector<std::string> text;  ///< to score; empty: the runs' own
  bool whole = false;             ///< the text is not split, its documents keep their order, windows overlap by half
  std::string split;              ///< train, val, test or all; empty: val of the runs' own text, all of another
  std::int64_t stride = 0;        ///< of overlapping windows; 0: no overlap, with --adapt half a window
  std::string adapt;              ///< a rate, or "auto"; empty: nothing is learned from the text
};
/// Adds --counts, --adapt (a rate or, if `has_auto`, auto), --unknown, --checkpoint, --weights, --device and --threads;
/// call after adding RUN.
void add_scoring_arguments(Options& options, ScoringArguments& arguments, bool has_auto);

struct Prepared {
  JoinedRuns runs;
  Corpus corpus;                      ///< contains the scored text
  bool own = false;                   ///< `corpus` is the runs' training text, perhaps under another name
  std::optional<Corpus> other = {};   ///< the training text, if `own` is false
  std::string no_training_text = {};  ///< why the training text is not available
  Scored scored = {};                 ///< the tokens to score, and how
  std::optional<AdaptationChoice> adapted = {};

  const Corpus* trained_on() const { return own ? &corpus : other ? &*other : nullptr; }
};

/// Loads all parts. Searches for the training text if --counts or --adapt=auto needs it, else only if it has at most
/// `most_searched` tokens. Errors: as JoinedRuns and load_corpus(); usage if only some of several runs were trained on
/// the text, data if the split has fewer than two tokens.
Prepared prepare(const ScoringArguments& arguments,
                 std::int64_t most_searched = std::numeric_limits<std::int64_t>::max());

/// Scores with prepared.runs.predictor(), which with --adapt learns from the text. Throws Error diverged, naming the
/// checkpoint, if the loss is not finite.
SplitLoss score(Prepared& prepared, const Heartbeat& heartbeat);

}  // namespace chargpt
