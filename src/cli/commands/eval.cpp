// `chargpt eval RUN`: the exact loss of a whole split.
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/decoding.h"
#include "cli/figures.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/run_text.h"
#include "cli/work_line.h"
#include "report/log.h"
#include "run/test_scores.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  UnknownPolicy unknown = UnknownPolicy::error;
  std::string split;
  std::vector<std::string> text;
  std::int64_t stride = 0;
  bool counts = false, adapt = false;
};

/// data.max_val_tokens limits splits that are held out; elsewhere it has no effect and needs no mention.
DataConfig data_of(const LoadedRun& run, const std::string& split) {
  DataConfig data = run.config().data;
  if (split != "val" && split != "test") data.max_val_tokens = std::numeric_limits<std::int64_t>::max();
  return data;
}

/// The text the run was trained on, wherever it is now.
Corpus own_corpus(const Arguments& arguments, const LoadedRun& run, const std::string& split) {
  return text_of_run(run, data_of(run, split), arguments.output);
}

/// The same, only for counts and baselines: null, with a notice, if it is gone or has changed and only baselines need
/// it.
std::unique_ptr<Corpus> training_corpus(const Arguments& arguments, const LoadedRun& run) {
  try {
    return std::make_unique<Corpus>(own_corpus(arguments, run, "train"));
  } catch (const Error& error) {
    if (arguments.counts || arguments.adapt) throw;
    log_note(std::string("no baselines: ") + error.what());
  }
  return nullptr;
}

Corpus given_corpus(const Arguments& arguments, const LoadedRun& run, const std::string& split) {
  DataConfig data = data_of(run, split);
  data.text = arguments.text;
  tell_terminal(data.text);
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  const auto load = [&](const std::optional<Vocabulary>& known) {
    return load_corpus(data, known, reading_progress(arguments.output));
  };
  if (arguments.unknown == UnknownPolicy::error || vocabulary.units() == Units::bytes) return load(vocabulary);
  data.max_symbols = std::numeric_limits<std::int64_t>::max();
  std::string notice;
  Corpus corpus =
      in_vocabulary(load(std::nullopt), vocabulary, arguments.unknown, joined(arguments.text, ", "), notice);
  tell(notice);
  return corpus;
}

/// `own`: the text is the one that the run was trained on, whose test split is for --split test alone.
TokenView chosen_split(const Corpus& corpus, const std::string& name, bool own) {
  const std::string units = unit_word(corpus.vocabulary().units()) + "s";
  const TokenView split = name == "train"  ? corpus.train()
                          : name == "val"  ? corpus.val()
                          : name == "test" ? corpus.test()
                          : own            ? corpus.without_test()
                                           : corpus.all();
  if (split.size() < 2)
    throw Error(ExitCode::data, "the " + name + " split has " + std::to_string(split.size()) + " " + units +
                                    "; scoring needs at least 2");
  return split;
}

/// `own`: the text is the one that the run was trained on, under whatever name.
Scored scored_part(const Arguments& arguments, const LoadedRun& run, const Corpus& corpus, const std::string& split,
                   bool own) {
  Scored scored = split == "test" ? test_of(corpus, run) : validation_of(corpus, run);
  scored.tokens = chosen_split(corpus, split, own);
  scored.split = split;
  scored.held_out = own && (split == "val" || split == "test");
  scored.stride = arguments.adapt && arguments.stride == 0 ? half_window(run.model->block_size()) : arguments.stride;
  return scored;
}

/// By what --adapt and --counts make of the network.
SplitLoss loss_of_predictor(const Arguments& arguments, LoadedRun& run, const Scored& scored, WorkLine& line) {
  const Heartbeat heartbeat = line.heartbeat("scoring the text");
  const std::int64_t block_size = run.model->block_size();
  return arguments.adapt ? adaptive_loss(run.predictor(), scored.tokens, block_size, scored.stride, heartbeat)
                         : split_loss(run.predictor(), scored.tokens, block_size, scored.stride, heartbeat);
}

void check_split(const Arguments& arguments, const LoadedRun& run) {
  if (arguments.split == "test" && run.config().data.test_fraction == 0)
    throw Error(ExitCode::data, run.folder.string() +
                                    " holds out no test split; train a run with --test_fraction 0.1, or score another "
                                    "text with --text FILE");
}

void run_eval(const Arguments& arguments) {
  LoadedRun run = load_run(arguments);
  check_split(arguments, run);
  if (arguments.adapt) check_adapts(*run.model);
  const bool given = !arguments.text.empty();
  const std::string split = !arguments.split.empty() ? arguments.split : given ? "all" : "val";
  const Corpus corpus = given ? given_corpus(arguments, run, split) : own_corpus(arguments, run, split);
  log_notices(corpus);
  const bool own = corpus.fingerprint() == run.checkpoint.state.data;
  if (own && given && arguments.split.empty())
    log_note("this is the text that the model was trained on, scored as a whole; --split val scores the part held out");
  if (own && split == "all" && corpus.test_tokens() > 0) log_note("without its test split, which --split test scores");
  const std::unique_ptr<Corpus> other = own ? nullptr : training_corpus(arguments, run);
  const Scored scored = scored_part(arguments, run, corpus, split, own);
  std::optional<std::int64_t> test_scores;
  if (own && split == "test") test_scores = count_test_score(run.folder);
  WorkLine line(arguments.output);
  Figures figures = measure(run.network(), run.config().model, run.config().data.units, scored,
                            line.heartbeat("scoring the text by the network"));
  figures.test_scores = test_scores;
  if (arguments.adapt) {
    figures.adapted = adaptation_of(
        run, [&] { return (own ? corpus : *other).train(); }, line.heartbeat("choosing the rate of adaptation"));
    run.adapt(figures.adapted->adaptation);
  }
  if (arguments.counts) {
    run.mix_with_counts(own ? corpus : *other, line.heartbeat("counting the training text"));
    figures.mixed = {run.mixture->weights(), run.mixture->learning()};
  }
  if (arguments.adapt || arguments.counts) score_by(figures, loss_of_predictor(arguments, run, scored, line));
  if (const Corpus* const counted = own ? &corpus : other.get())
    figures.baselines =
        compute_baselines(*counted, scored.tokens, {.length = figures.block_size, .stride = scored.stride},
                          scored.held_out, line.heartbeat("measuring baselines"));
  line.clear();
  if (!arguments.output.json) return print_figures(figures);
  nlohmann::ordered_json json = to_json(figures);
  json["checkpoint"] = checkpoint_json(run);
  json["text"] = given ? arguments.text : run.config().data.text;
  print_json(json);
}

}  // namespace

void add_eval(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  add_run_argument(options, arguments->run);
  options
      .add("--text", arguments->text,
           "score these texts as a whole instead of the run's own: files, folders, or - for standard input")
      .takes_words();
  options
      .add(
          "--split", arguments->split,
          "train, val, test (data.test_fraction; the run records how often) or all but test (default: val of the run's "
          "own text, all of a text given with --text)")
      .one_of({"train", "val", "test", "all"});
  add_unknown_option(options, arguments->unknown, "characters of --text");
  options
      .add("--stride", arguments->stride,
           "overlapping windows: score only the last STRIDE characters of each; 0: no overlap, with --adapt half a "
           "window")
      .non_negative();
  add_counts_option(options, arguments->counts);
  add_adapt_option(options, arguments->adapt);
  add_weights_options(options, arguments->checkpoint, arguments->use.weights);
  options.gone("--storage", "weights are kept as float32; leave it out");
  options.gone("--engine", "eval computes on the CPU, whatever engine trained the model; leave it out");
  add_device_arguments(options, arguments->use);
  add_output_arguments(options, arguments->output);
  on_parsed(options, arguments, run_eval);
}

}  // namespace chargpt
