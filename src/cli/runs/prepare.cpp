#include "cli/runs/prepare.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/output.h"
#include "cli/runs/run_text.h"
#include "report/log.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

Corpus given_corpus(const ScoringArguments& arguments, const JoinedRuns& runs) {
  DataConfig data = runs.first().config().data;
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
  const bool needed = arguments.counts || arguments.adapt == "auto";
  if (prepared.own || !prepared.no_training_text.empty()) return;
  if (!needed && runs.first().checkpoint.state.data.tokens > most_searched) return;
  try {
    prepared.other = text_of_run(runs.first());
  } catch (const Error& error) {
    if (needed) throw;
    prepared.no_training_text = error.what();
  }
}

/// A rate above 0 and at most 1; nullopt for another word.
std::optional<double> rate_of(const std::string& word) {
  const std::optional<double> rate = parsed_number<double>(word);
  return rate && *rate > 0 && *rate <= 1 ? rate : std::nullopt;
}

/// Adds --adapt. Throws Error usage for an invalid value, and for a rate given as a separate word, which would name a
/// run.
void add_adapt_option(Options& options, std::string& adapt, bool has_auto) {
  const std::string standard = short_number(Adaptation{}.rate);
  options
      .add("--adapt", adapt,
           "learn from the text while scoring it (so do --counts): each character is predicted first, then "
           "learned from; the run's weights do not change. RATE is the rate of learning (default " +
               standard + ")" + (has_auto ? "; auto tries four on the end of the train split" : ""))
      .value_name(has_auto ? "[=RATE|=auto]" : "[=RATE]")
      .default_text("")
      .alone_means(standard);
  options.before_run([&options, &adapt, has_auto] {
    if (adapt.empty()) return;
    const auto understood = [&](const std::string& word) { return rate_of(word) || (has_auto && word == "auto"); };
    for (const std::string& word : options.find("RUN").values())
      if (understood(word) && !is_there(word))
        throw Error(ExitCode::usage, "'", word, "' is not a run; write --adapt=", word);
    if (!understood(adapt))
      throw Error(ExitCode::usage, "--adapt=", printable(adapt),
                  " is not understood; it takes a rate above 0, at most 1", has_auto ? ", or auto" : "");
  });
}

/// Applies --adapt and --counts to the networks.
void extend(Prepared& prepared, const ScoringArguments& arguments) {
  JoinedRuns& runs = prepared.runs;
  if (!arguments.adapt.empty()) {
    const std::optional<double> rate = rate_of(arguments.adapt);
    prepared.adapted =
        rate ? AdaptationChoice{.adaptation = {.rate = *rate}}
             : choose_adaptation(*runs.first().model, prepared.trained_on()->train(), runs.first().network->threads(),
                                 work_line("choosing the rate of adaptation"));
    runs.adapt(prepared.adapted->adaptation);
  }
  if (arguments.counts) runs.mix_with_counts(*prepared.trained_on(), work_line("counting the training text"));
}

}  // namespace

void add_scoring_arguments(Options& options, ScoringArguments& arguments, bool has_auto) {
  add_counts_option(options, arguments.counts);
  add_adapt_option(options, arguments.adapt, has_auto);
  add_unknown_option(options, arguments.unknown, "characters of the text");
  add_weights_options(options, arguments);
  add_device_arguments(options, arguments.use);
}

Prepared prepare(const ScoringArguments& arguments, std::int64_t most_searched) {
  JoinedRuns runs(arguments);
  if (arguments.counts) refuse_counts(runs);
  const bool given = !arguments.text.empty();
  const std::string split = !arguments.split.empty() ? arguments.split : given ? "all" : "val";
  Corpus corpus = given ? given_corpus(arguments, runs) : text_of_run(runs.first());
  log_notices(corpus);
  for (const LoadedRun& run : runs.all()) tell(kept_caution(run.checkpoint.path));
  const std::string difference = text_difference(runs);
  check_texts(runs, corpus, difference);
  const bool own = corpus.fingerprint() == runs.first().checkpoint.state.data;
  Prepared prepared{.runs = std::move(runs), .corpus = std::move(corpus), .own = own, .no_training_text = difference};
  find_training_text(prepared, arguments, most_searched);
  Scored& scored = prepared.scored = part_to_score(prepared.corpus, split, prepared.runs.first());
  const bool overlaps = arguments.whole || !arguments.adapt.empty();
  scored.stride = arguments.stride > 0 || !overlaps ? arguments.stride : half_window(prepared.runs.block_size());
  scored.leaks = prepared.runs.leaks();
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
