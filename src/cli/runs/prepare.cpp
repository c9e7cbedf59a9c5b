#include "cli/runs/prepare.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cli/output.h"
#include "cli/runs/run_text.h"
#include "report/log.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

/// data.max_val_tokens limits splits that are held out; elsewhere it has no effect and needs no mention.
DataConfig data_of(const JoinedRuns& runs, const std::string& split) {
  DataConfig data = runs.first().config().data;
  if (split != "val" && split != "test") data.max_val_tokens = std::numeric_limits<std::int64_t>::max();
  return data;
}

Corpus given_corpus(const ScoringArguments& arguments, const JoinedRuns& runs, const std::string& split) {
  DataConfig data = data_of(runs, split);
  data.text = arguments.text;
  if (arguments.whole) data.val_fraction = data.test_fraction = 0;
  return load_corpus(data, runs.first().checkpoint.vocabulary, reading_line(), arguments.unknown);
}

/// Throws Error usage if only some of several runs were trained on the text.
void check_texts(const JoinedRuns& runs, const Corpus& corpus, const std::string& difference) {
  if (!difference.empty() && std::ranges::any_of(runs.all(), [&](const LoadedRun& run) {
        return run.checkpoint.state.data == corpus.fingerprint();
      }))
    throw Error(ExitCode::usage, difference, "; together they score only a text new to all of them");
}

/// Finds the training text. If it is missing and only the baselines need it, stores the reason instead.
void find_training_text(Prepared& prepared, const ScoringArguments& arguments, std::int64_t most_searched) {
  const JoinedRuns& runs = prepared.runs;
  const bool needed = arguments.counts || arguments.adapt.is_auto();
  if (prepared.own || !prepared.no_training_text.empty()) return;
  if (!needed && runs.first().checkpoint.state.data.tokens > most_searched) return;
  try {
    prepared.other = text_of_run(runs.first(), data_of(runs, "train"));
  } catch (const Error& error) {
    if (needed) throw;
    prepared.no_training_text = error.what();
  }
}

/// Applies --adapt and --counts to the networks.
void extend(Prepared& prepared, const ScoringArguments& arguments) {
  JoinedRuns& runs = prepared.runs;
  if (arguments.adapt.adaptation) {
    prepared.adapted = AdaptationChoice{.adaptation = *arguments.adapt.adaptation};
    if (arguments.adapt.is_auto())
      prepared.adapted =
          choose_adaptation(*runs.first().model, prepared.trained_on()->train(), runs.first().network->threads(),
                            work_line("choosing the rate of adaptation"));
    runs.adapt(prepared.adapted->adaptation);
  }
  if (arguments.counts) runs.mix_with_counts(*prepared.trained_on(), work_line("counting the training text"));
}

}  // namespace

void add_scoring_arguments(Options& options, ScoringArguments& arguments, AdaptTakes takes) {
  add_counts_option(options, arguments.counts);
  add_adapt_option(options, arguments.adapt, takes);
  add_unknown_option(options, arguments.unknown, "characters of the text");
  add_model_arguments(options, arguments);
}

Prepared prepare(const ScoringArguments& arguments, std::int64_t most_searched) {
  JoinedRuns runs = load_runs(arguments);
  if (arguments.split == "test" && runs.first().config().data.test_fraction == 0)
    throw Error(ExitCode::data, runs.first().folder.string(),
                " holds out no test split; train a run with --test_fraction 0.1, or score another text with --text "
                "FILE");
  if (arguments.counts) refuse_counts(runs);
  const bool given = !arguments.text.empty();
  const std::string split = !arguments.split.empty() ? arguments.split : given ? "all" : "val";
  Corpus corpus = given ? given_corpus(arguments, runs, split) : text_of_run(runs.first(), data_of(runs, split));
  log_notices(corpus);
  for (const LoadedRun& run : runs.all()) tell(kept_caution(run.checkpoint.path));
  const std::string difference = text_difference(runs);
  check_texts(runs, corpus, difference);
  const bool own = corpus.fingerprint() == runs.first().checkpoint.state.data;
  Prepared prepared{.runs = std::move(runs), .corpus = std::move(corpus), .own = own, .no_training_text = difference};
  find_training_text(prepared, arguments, most_searched);
  Scored& scored = prepared.scored = part_to_score(prepared.corpus, split, prepared.runs.first());
  const bool overlaps = arguments.whole || arguments.adapt.adaptation;
  scored.stride = arguments.stride > 0 || !overlaps ? arguments.stride : half_window(prepared.runs.block_size());
  if (prepared.runs.are_several()) scored.weights.clear();
  extend(prepared, arguments);
  return prepared;
}

SplitLoss score(Prepared& prepared, const Heartbeat& heartbeat) {
  Predictor& predictor = prepared.runs.predictor();
  const TokenView text = prepared.scored.tokens;
  const std::int64_t block_size = prepared.runs.block_size(), stride = prepared.scored.stride;
  SplitLoss loss = prepared.adapted ? adaptive_loss(predictor, text, block_size, stride, heartbeat)
                                    : split_loss(predictor, text, block_size, stride, heartbeat);
  check_finite(loss, prepared.scored.checkpoint);
  return loss;
}

}  // namespace chargpt
