// `chargpt eval RUN…`: the exact loss of a whole split, of one model or of several as one.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/runs/adaptation.h"
#include "cli/runs/figures.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "report/log.h"
#include "run/checkpoints.h"

namespace chargpt {

namespace {

struct Arguments : JoinedArguments {
  std::string split;
  std::vector<std::string> text;
  std::int64_t stride = 0;
  AdaptArguments adapt;
  /// Whether something is learned from the train split before anything is scored.
  bool learns_before() const { return counts || adapt.is_auto(); }
};

/// data.max_val_tokens limits splits that are held out; elsewhere it has no effect and needs no mention.
DataConfig data_of(const LoadedRun& run, const std::string& split) {
  DataConfig data = run.config().data;
  if (split != "val" && split != "test") data.max_val_tokens = std::numeric_limits<std::int64_t>::max();
  return data;
}

/// The text the run was trained on, wherever it is now, for what is learned from it and baselines: none, with a notice,
/// if it is gone or has changed and only baselines need it.
std::optional<Corpus> training_corpus(const Arguments& arguments, const LoadedRun& run) {
  try {
    return text_of_run(run, data_of(run, "train"), arguments.output);
  } catch (const Error& error) {
    if (arguments.learns_before()) throw;
    log_note(std::string("no baselines: ") + error.what());
  }
  return std::nullopt;
}

Corpus given_corpus(const Arguments& arguments, const LoadedRun& run, const std::string& split) {
  DataConfig data = data_of(run, split);
  data.text = arguments.text;
  tell_terminal(data.text);
  return load_corpus(data, run.checkpoint.vocabulary, reading_progress(arguments.output), arguments.unknown);
}

/// `own`: the text is the one that the run was trained on, whose test split is for --split test alone.
TokenView chosen_split(const Corpus& corpus, const std::string& name, bool own) {
  const TokenView split = name == "train"  ? corpus.train()
                          : name == "val"  ? corpus.val()
                          : name == "test" ? corpus.test()
                          : own            ? corpus.without_test()
                                           : corpus.all();
  if (split.size() < 2)
    throw Error(ExitCode::data, "the ", name, " split has ", tokens_text(split.size(), corpus.vocabulary().units()),
                "; scoring needs at least 2");
  return split;
}

/// `own`: the text is the one that the run was trained on, under whatever name.
Scored scored_part(const Arguments& arguments, LoadedRun& run, const Corpus& corpus, const std::string& split,
                   bool own) {
  Scored scored = split == "test" ? test_of(corpus, run) : validation_of(corpus, run);
  scored.tokens = chosen_split(corpus, split, own);
  scored.split = split;
  scored.held_out = own && (split == "val" || split == "test");
  scored.stride =
      arguments.adapt.adaptation && arguments.stride == 0 ? half_window(run.block_size()) : arguments.stride;
  if (!run.others().empty()) scored.weights.clear();
  return scored;
}

/// Error usage where some of several runs were trained on what another has held out, or where there is no one train
/// split to count.
void check_texts(const Arguments& arguments, LoadedRun& run, const Corpus& corpus, const std::string& difference) {
  if (difference.empty()) return;
  const bool known = std::ranges::any_of(
      run.members(), [&](const LoadedRun* member) { return member->checkpoint.state.data == corpus.fingerprint(); });
  if (known || arguments.counts)
    throw Error(ExitCode::usage, difference,
                "; together they score only a text new to all of them (--text FILE), without --counts");
}

/// Of the networks as they were trained: of several each is scored, and so is their mean, from their losses.
Figures figures_of(LoadedRun& run, const Scored& scored, WorkLine& line) {
  if (run.others().empty()) return measure(run, scored, line.heartbeat("scoring the text by the network"));
  const double begun = steady_seconds();
  std::vector<Figures::Member> members;
  std::vector<float> losses;
  for (LoadedRun* member : run.members()) {
    Scored own = scored;
    own.checkpoint = member->checkpoint.path.string();
    const SplitLoss loss = split_loss(member->network(), scored.tokens, run.block_size(), scored.stride,
                                      line.heartbeat("scoring the text by " + member->name));
    check_finite(loss, own);
    losses.insert(losses.end(), loss.losses.begin(), loss.losses.end());
    members.push_back({.name = member->name, .loss = loss.mean});
  }
  std::vector<float> of_mean(losses.size() / members.size());
  mean_of_losses(losses, of_mean);
  Figures figures = measured(run, scored, split_loss_of(std::move(of_mean)), steady_seconds() - begun,
                             line.heartbeat("scoring the text in windows of 64"));
  figures.members = std::move(members);
  return figures;
}

/// Makes the run's networks learn from what is scored. `trained_on` is read only where a rate is chosen.
AdaptationChoice adapt(const AdaptArguments& arguments, LoadedRun& run, const Corpus* trained_on, WorkLine& line) {
  AdaptationChoice choice{.adaptation = *arguments.adaptation};
  if (arguments.is_auto())
    choice = choose_adaptation(*run.model, trained_on->train(), run.network().threads(),
                               line.heartbeat("choosing the rate of adaptation"));
  if (arguments.is_auto() && choice.tokens == 0)
    log_note("the train split is too short to choose a rate: using ", short_number(choice.adaptation.rate));
  run.adapt(choice.adaptation);
  return choice;
}

/// The loss becomes that of what --adapt and --counts have made of the network.
void score_by_predictor(Figures& figures, LoadedRun& run, const Scored& scored, WorkLine& line) {
  const double begun = steady_seconds();
  const Heartbeat heartbeat = line.heartbeat("scoring the text");
  const std::int64_t block_size = run.block_size();
  const SplitLoss loss = figures.adapted
                             ? adaptive_loss(run.predictor(), scored.tokens, block_size, scored.stride, heartbeat)
                             : split_loss(run.predictor(), scored.tokens, block_size, scored.stride, heartbeat);
  check_finite(loss, scored);
  figures.seconds = steady_seconds() - begun;
  figures.network_loss = figures.loss;
  figures.loss = loss.mean;
  figures.tenths = tenths_of(loss.losses, scored.tokens);
}

void run_eval(const Arguments& arguments) {
  if (arguments.adapt.is_auto() && arguments.runs.size() > 1)
    throw Error(ExitCode::usage, "--adapt=auto chooses the rate of one run; for several write --adapt=RATE");
  LoadedRun run = load_runs(arguments);
  if (arguments.split == "test" && run.config().data.test_fraction == 0)
    throw Error(ExitCode::data, run.folder.string(),
                " holds out no test split; train a run with --test_fraction 0.1, or score another text with --text "
                "FILE");
  if (arguments.counts) refuse_counts_without_text(run);
  const bool given = !arguments.text.empty();
  const std::string split = !arguments.split.empty() ? arguments.split
                            : given                  ? "all"
                                                     : "val",
                    difference = text_difference(run);
  const Corpus corpus =
      given ? given_corpus(arguments, run, split) : text_of_run(run, data_of(run, split), arguments.output);
  log_notices(corpus);
  for (const LoadedRun* member : run.members())
    if (const std::string line = kept_caution(member->checkpoint.path); !line.empty()) log_note(line);
  check_texts(arguments, run, corpus, difference);
  const bool own = corpus.fingerprint() == run.checkpoint.state.data;
  if (own && given && arguments.split.empty())
    log_note("this is the text that the model was trained on, scored as a whole; --split val scores the part held out");
  if (own && split == "all" && corpus.test_tokens() > 0) log_note("the test split is left out; see --split test");
  if (!difference.empty()) log_note("no baselines: " + difference);
  std::optional<Corpus> other;
  if (!own && difference.empty()) other = training_corpus(arguments, run);
  const Corpus* const trained_on = own ? &corpus : other ? &*other : nullptr;
  const Scored scored = scored_part(arguments, run, corpus, split, own);
  WorkLine line(arguments.output);
  Figures figures = figures_of(run, scored, line);
  if (arguments.adapt.adaptation) figures.adapted = adapt(arguments.adapt, run, trained_on, line);
  if (arguments.counts) {
    run.mix_with_counts(*trained_on, line.heartbeat("counting the training text"));
    figures.mixture = run.mixture.get();
  }
  if (figures.adapted || figures.mixture != nullptr) score_by_predictor(figures, run, scored, line);
  if (trained_on != nullptr)
    figures.baselines =
        compute_baselines(*trained_on, scored.tokens, {.length = figures.block_size, .stride = scored.stride},
                          line.heartbeat("measuring baselines"));
  line.clear();
  if (!arguments.output.json) return print_figures(figures);
  nlohmann::ordered_json json = to_json(figures);
  add_checkpoints(json, run);
  json["seconds"] = figures.seconds;
  json["tokens_per_second"] = static_cast<double>(figures.tokens) / figures.seconds;
  json["text"] = given ? arguments.text : run.config().data.text;
  print_json(json);
}

}  // namespace

void add_eval(Options& options) {
  Arguments& arguments = arguments_for(options, run_eval);
  add_runs_argument(options, arguments.runs);
  options
      .add("--text", arguments.text,
           "score these texts as a whole instead of the run's own: files, folders, or - for standard input")
      .takes_words();
  options
      .add("--split", arguments.split,
           "the split to score (default: val of the run's own text, all of a --text); all leaves test out")
      .one_of({"train", "val", "test", "all"});
  add_unknown_option(options, arguments.unknown, "characters of --text");
  options
      .add("--stride", arguments.stride,
           "overlapping windows: score only the last STRIDE characters of each; 0: no overlap, with --adapt half a "
           "window")
      .non_negative();
  add_counts_option(options, arguments.counts);
  add_adapt_option(options, arguments.adapt, AdaptTakes::rate_or_auto);
  add_model_arguments(options, arguments);
}

}  // namespace chargpt
