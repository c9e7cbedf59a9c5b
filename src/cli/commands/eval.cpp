// `chargpt eval RUN…`: the exact loss of a whole split, of one model or of several as one.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/print_text.h"
#include "cli/runs/figures.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "cli/work_line.h"
#include "report/log.h"
#include "run/kept_files.h"

namespace chargpt {

namespace {

struct Arguments : JoinedArguments {
  std::string split;
  std::vector<std::string> text;
  std::int64_t stride = 0, restart = 0;
  bool adapt = false;
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
    if (arguments.learns()) throw;
    log_note(std::string("no baselines: ") + error.what());
  }
  return std::nullopt;
}

Corpus given_corpus(const Arguments& arguments, const LoadedRun& run, const std::string& split) {
  DataConfig data = data_of(run, split);
  data.text = arguments.text;
  tell_terminal(data.text);
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  const auto load = [&](const std::optional<Vocabulary>& known) {
    return load_corpus(data, known, reading_progress(arguments.output));
  };
  if (vocabulary.units() == Units::bytes) return load(vocabulary);
  data.max_symbols = std::numeric_limits<std::int64_t>::max();
  std::string notice;
  Corpus corpus =
      in_vocabulary(load(std::nullopt), vocabulary, arguments.unknown, joined(arguments.text, ", "), notice);
  tell(notice);
  return corpus;
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
  scored.stride = arguments.adapt && arguments.stride == 0 ? half_window(run.block_size()) : arguments.stride;
  if (!run.others().empty()) scored.weights.clear();
  return scored;
}

bool finds_its_text(const LoadedRun& run) {
  KnownText known = known_text(run.checkpoint);
  known.run = run.folder;
  try {
    find_text(known, /*named=*/false);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Where a run no longer finds its text. One in a folder that cannot be written is scored all the same.
void remember_place(LoadedRun& run, const Corpus& corpus) {
  for (const LoadedRun* member : run.members()) {
    if (member->checkpoint.state.data != corpus.fingerprint() || finds_its_text(*member)) continue;
    try {
      keep_text_place(member->folder, corpus.listing());
    } catch (const Error& error) {
      log_note("cannot save where the text is: ", error.what());
    }
  }
}

/// Error usage where some of several runs were trained on what another has held out, or where there is no one train
/// split to learn from.
void check_texts(const Arguments& arguments, LoadedRun& run, const Corpus& corpus, const std::string& difference) {
  if (difference.empty()) return;
  const bool known = std::ranges::any_of(
      run.members(), [&](const LoadedRun* member) { return member->checkpoint.state.data == corpus.fingerprint(); });
  if (known || arguments.adapt || arguments.learns())
    throw Error(ExitCode::usage, difference,
                "; together they score only a text new to all of them (--text FILE), without --counts, --adapt and "
                "--learn-weights");
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
    members.push_back({.name = member->name, .weight = run.weights()[members.size()], .loss = loss.mean});
  }
  std::vector<float> of_mean(losses.size() / members.size());
  mean_of_losses(losses, run.weights(), of_mean);
  Figures figures = measured(run, scored, split_loss_of(std::move(of_mean)), steady_seconds() - begun,
                             line.heartbeat("scoring the text in windows of 64"));
  figures.members = std::move(members);
  return figures;
}

/// Each network learns by a rate of its own.
/// `trained_on`: null where it could not be read, which matters only if a rate must be chosen.
void adapt(const Arguments& arguments, Figures& figures, LoadedRun& run, const Corpus* trained_on, WorkLine& line) {
  std::optional<Corpus> again;
  const auto train = [&] {
    return (trained_on != nullptr ? *trained_on
                                  : again.emplace(text_of_run(run, data_of(run, "train"), arguments.output)))
        .train();
  };
  const std::vector<AdaptationChoice> choices = adapt(run, train, line.heartbeat("choosing the rate of adaptation"));
  figures.adapted = choices.front();
  figures.restart = arguments.restart;
  for (std::size_t i = 0; i < figures.members.size(); ++i) figures.members[i].adapted = choices[i];
}

/// The run of which it was scored most often tells how often that was.
std::int64_t count_test_scores(LoadedRun& run) {
  std::int64_t most = 0;
  for (const LoadedRun* member : run.members()) most = std::max(most, count_test_score(member->folder));
  return most;
}

/// The loss becomes that of what --adapt and --counts have made of the network.
void score_by_predictor(const Arguments& arguments, Figures& figures, LoadedRun& run, const Scored& scored,
                        WorkLine& line) {
  const double begun = steady_seconds();
  const Heartbeat heartbeat = line.heartbeat("scoring the text");
  const std::int64_t block_size = run.block_size();
  const SplitLoss loss =
      arguments.adapt
          ? adaptive_loss(run.predictor(), scored.tokens, block_size, scored.stride, arguments.restart, heartbeat)
          : split_loss(run.predictor(), scored.tokens, block_size, scored.stride, heartbeat);
  check_finite(loss, scored);
  figures.seconds = steady_seconds() - begun;
  figures.network_loss = figures.loss;
  figures.loss = loss.mean;
  figures.tenths = tenths_of(loss.losses, scored.tokens);
}

void run_eval(const Arguments& arguments) {
  if (arguments.restart > 0 && !arguments.adapt)
    throw Error(ExitCode::usage, "--restart ", arguments.restart,
                " forgets what --adapt has learned; add --adapt, or leave it out");
  LoadedRun run = load_runs(arguments);
  if (arguments.split == "test" && run.config().data.test_fraction == 0)
    throw Error(ExitCode::data, run.folder.string(),
                " holds out no test split; train a run with --test_fraction 0.1, or score another text with --text "
                "FILE");
  if (arguments.adapt)
    for (const LoadedRun* member : run.members()) check_adapts(*member->model);
  const bool given = !arguments.text.empty();
  const std::string split = !arguments.split.empty() ? arguments.split
                            : given                  ? "all"
                                                     : "val",
                    difference = text_difference(run);
  const Corpus corpus =
      given ? given_corpus(arguments, run, split) : text_of_run(run, data_of(run, split), arguments.output);
  log_notices(corpus);
  check_texts(arguments, run, corpus, difference);
  const bool own = corpus.fingerprint() == run.checkpoint.state.data;
  if (own && given && arguments.unknown == UnknownPolicy::error) remember_place(run, corpus);
  if (own && given && arguments.split.empty())
    log_note("this is the text that the model was trained on, scored as a whole; --split val scores the part held out");
  if (own && split == "all" && corpus.test_tokens() > 0) log_note("the test split is left out; see --split test");
  if (!difference.empty()) log_note("no baselines: " + difference);
  std::optional<Corpus> other;
  if (!own && difference.empty()) other = training_corpus(arguments, run);
  const Corpus* const trained_on = own ? &corpus : other ? &*other : nullptr;
  const Scored scored = scored_part(arguments, run, corpus, split, own);
  std::optional<std::int64_t> test_scores;
  if (own && split == "test") test_scores = count_test_scores(run);
  WorkLine line(arguments.output);
  std::int64_t learned_on = 0;
  if (arguments.learn_weights)
    learned_on = learn_weights(run, trained_on->train(), line.heartbeat("learning the weights"));
  Figures figures = figures_of(run, scored, line);
  figures.test_scores = test_scores;
  figures.weights_learned_on = learned_on;
  if (arguments.adapt) adapt(arguments, figures, run, trained_on, line);
  if (arguments.counts) {
    run.mix_with_counts(*trained_on, line.heartbeat("counting the training text"));
    figures.mixture = run.mixture.get();
  }
  if (arguments.adapt || arguments.counts) score_by_predictor(arguments, figures, run, scored, line);
  if (trained_on != nullptr)
    figures.baselines =
        compute_baselines(*trained_on, scored.tokens, {.length = figures.block_size, .stride = scored.stride},
                          scored.held_out, line.heartbeat("measuring baselines"));
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
           "train, val, test (data.test_fraction; the run counts its uses) or all, without test (default: val of the "
           "run's own text, all of a --text)")
      .one_of({"train", "val", "test", "all"});
  add_unknown_option(options, arguments.unknown, "characters of --text");
  options
      .add("--stride", arguments.stride,
           "overlapping windows: score only the last STRIDE characters of each; 0: no overlap, with --adapt half a "
           "window")
      .non_negative();
  add_counts_option(options, arguments.counts);
  add_adapt_option(options, arguments.adapt);
  options
      .add("--restart", arguments.restart,
           "with --adapt: forget what was learned after every RESTART characters, so that no prediction depends on "
           "more; 0: never")
      .range(0, 16'384);  // what is forgotten takes some 3 kB a character
  add_learn_weights_option(options, arguments.learn_weights);
  add_weights_options(options, arguments);
  options.gone("--storage", "weights are kept as float32; leave it out");
  options.gone("--engine", "eval computes on the CPU, whatever engine trained the model; leave it out");
  add_device_arguments(options, arguments.use);
  add_output_arguments(options, arguments.output);
}

}  // namespace chargpt
