// `chargpt score RUN… [FILE|-]`: how much each character of a text surprises a model, or several as one, and where that
// comes from.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/adaptation.h"
#include "cli/runs/figures.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "cli/standard_input.h"
#include "evaluate/shared_text.h"
#include "evaluate/split_loss.h"
#include "evaluate/text_score.h"
#include "page/page.h"
#include "predict/filters.h"
#include "report/charts/heat_map.h"
#include "report/format.h"
#include "report/log.h"
#include "report/table.h"
#include "report/terminal.h"
#include "run/checkpoint.h"
#include "run/run_files.h"
#include "run/run_name.h"
#include "text/documents.h"
#include "text/encode.h"
#include "text/text_bytes.h"
#include "text/text_listing.h"

namespace chargpt {

namespace {

constexpr std::uint64_t most_scored_bytes = std::uint64_t{1} << 30;

struct Arguments : JoinedArguments {
  std::string file, html;
  std::int64_t show = 2000, candidates = 0;
  AdaptArguments adapt;
};

/// What was scored, and all that is said of it.
struct Score {
  std::string name;
  std::vector<std::int64_t> ids;
  std::vector<float> losses;
  double mean = 0;
  std::vector<MeanLoss> by_context, by_class;
  std::vector<LineLoss> lines;
};

/// The files of the text, checked for characters that the model does not know.
std::vector<TextBytes> texts_of(const Arguments& arguments, const LoadedRun& run) {
  const DataConfig& data = run.config().data;
  const TextListing listing = list_texts({arguments.file}, data.units);
  for (const std::string& notice : listing.notices) log_note(notice);
  if (listing.bytes() > most_scored_bytes)
    throw Error(ExitCode::data, arguments.file, " is larger than ", most_scored_bytes, " bytes, the limit here");
  tell_terminal(listing.names);
  std::vector<TextBytes> texts;
  CharacterMarks marks(code_point_limit);
  for (const TextFile& file : listing.files) {
    texts.push_back(read_text(file, {}, most_prompt_bytes));
    if (data.units == Units::characters) mark_characters(texts.back(), marks);
  }
  tell(unknown_characters(texts, marks, data, run.checkpoint.vocabulary, arguments.unknown));
  return texts;
}

/// Of the file, of standard input, or of the run's own validation split.
void read_text(const Arguments& arguments, const LoadedRun& run, Score& score) {
  if (arguments.file.empty()) {
    const Corpus corpus = text_of_run(run, run.config().data, arguments.output);
    score.name = "the validation split";
    score.ids.resize(static_cast<std::size_t>(corpus.val().size()));
    corpus.val().copy(0, corpus.val().size(), score.ids.data());
    if (corpus.documents() > 0) score.ids.erase(score.ids.begin());  // what a document begins with is given
    return;
  }
  score.name = arguments.file == standard_input_name ? "standard input" : arguments.file;
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  for (const TextBytes& text : texts_of(arguments, run))
    for (const std::string_view document : documents_of(text.bytes, run.config().data)) {
      const std::vector<std::int64_t> ids = vocabulary.encode(document, score.name, arguments.unknown);
      score.ids.insert(score.ids.end(), ids.begin(), ids.end());
      if (vocabulary.document() >= 0) score.ids.push_back(vocabulary.document());
    }
  if (score.ids.empty()) throw Error(ExitCode::data, score.name + " has no characters to score");
}

/// By what --adapt and --counts make of the network.
std::vector<float> losses_of(const Arguments& arguments, LoadedRun& run, const Score& score, WorkLine& line) {
  if (arguments.adapt.adaptation) run.adapt(*arguments.adapt.adaptation);
  if (arguments.counts)
    run.mix_with_counts(text_of_run(run, run.config().data, arguments.output),
                        line.heartbeat("counting the training text"));
  const std::int64_t first = run.checkpoint.state.start_symbol, document = run.checkpoint.vocabulary.document(),
                     block_size = run.block_size();
  const Heartbeat heartbeat = line.heartbeat("scoring the text");
  return arguments.adapt.adaptation
             ? adaptive_text_losses(run.predictor(), score.ids, first, block_size, heartbeat, document)
             : text_losses(run.predictor(), score.ids, first, block_size, heartbeat, document);
}

/// Says so if the text is one that the model was trained on.
void note_training_text(const Arguments& arguments, const LoadedRun& run, const Score& score) {
  constexpr std::int64_t most_searched = 50'000'000;  // tokens of the training text: some seconds
  if (arguments.file.empty() || !run.others().empty() || run.checkpoint.state.data.tokens > most_searched) return;
  try {
    const Corpus corpus = text_of_run(run, run.config().data, arguments.output);
    const std::vector<std::uint32_t> ids(score.ids.begin(), score.ids.end());
    const TokenView text(ids.data(), sizeof ids[0], std::ssize(ids), run.checkpoint.vocabulary.document());
    const double part = static_cast<double>(shared_tokens(text, corpus.train())) / static_cast<double>(std::ssize(ids));
    if (const std::string line = shared_text_line(part, run.config().data.units); !line.empty()) log_note(line);
  } catch (const Error& error) {
    log_detail(error.what());  // the training text is not at hand
  }
}

Score measure(const Arguments& arguments, LoadedRun& run) {
  Score score;
  read_text(arguments, run, score);
  note_training_text(arguments, run, score);
  const std::int64_t block_size = run.block_size();
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  WorkLine line(arguments.output);
  score.losses = losses_of(arguments, run, score, line);
  score.mean = mean_loss(score.losses);
  if (!std::isfinite(score.mean))
    throw Error(ExitCode::diverged, "the loss of ", score.name,
                " is not a finite number, so the model's weights have diverged; choose others with --checkpoint");
  if (vocabulary.document() >= 0)
    score.by_context = losses_by_place(score.ids, score.losses, vocabulary.document());
  else if (!arguments.adapt.adaptation && !arguments.counts)  // these know the text before the window too
    score.by_context = losses_by_context(run.predictor(), score.ids, block_size, line.heartbeat("scoring by context"));
  score.by_class = losses_by_class(score.ids, score.losses, vocabulary);
  score.lines = losses_by_line(score.ids, score.losses, vocabulary.id_of('\n'), vocabulary.document());
  return score;
}

/// The most probable ids in place of each character of the text, best first, by the same windows as text_losses().
std::vector<nlohmann::ordered_json> candidates_of(LoadedRun& run, const Score& score, std::int64_t count) {
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  const std::vector<std::uint32_t> text = scored_text(score.ids, run.checkpoint.state.start_symbol);
  const TokenView tokens(text.data(), sizeof text[0], std::ssize(text), vocabulary.document());
  const WindowCut windows(tokens, run.block_size(), half_window(run.block_size()));
  const auto V = static_cast<std::size_t>(run.model->vocab_size());
  std::vector<nlohmann::ordered_json> all;
  for (std::int64_t i = 0; i < windows.count(); ++i) {
    const WindowCut::Window window = windows[i];
    std::vector<float> logits(static_cast<std::size_t>(window.length) * V);  // (T, V)
    run.predictor().logits({.tokens = tokens, .starts = {&window.begin, 1}, .T = window.length}, logits);
    for (std::int64_t t = window.from; t < window.to; ++t) {
      nlohmann::ordered_json& best = all.emplace_back(nlohmann::ordered_json::array());
      const std::span<const float> row = std::span(logits).subspan(static_cast<std::size_t>(t) * V, V);
      for (const Candidate& candidate : best_candidates(row, count)) {
        nlohmann::ordered_json one = {{"id", candidate.id}};
        add_text(one, "character", vocabulary.symbol(candidate.id));
        one["log_probability"] = candidate.log_probability;
        best.push_back(std::move(one));
      }
    }
  }
  return all;
}

nlohmann::ordered_json to_json(const std::vector<MeanLoss>& means) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const MeanLoss& mean : means)
    all.push_back({{"of", mean.of}, {"loss", mean.loss}, {"characters", mean.characters}});
  return all;
}

/// What may fail is done before the document begins.
void print_as_json(const Arguments& arguments, LoadedRun& run, const Score& score) {
  nlohmann::ordered_json json = {{"text", score.name}};
  add_checkpoints(json, run);
  json.update({{"characters", score.ids.size()},
               {"loss", score.mean},
               {"block_size", run.block_size()},
               {"leaks", run.leaks()},
               {"class", arguments.adapt.adaptation ? "adaptive" : "frozen"},
               {"counts", run.mixture != nullptr},
               {"by_context", to_json(score.by_context)},
               {"by_class", to_json(score.by_class)},
               {"losses", score.losses}});
  if (const auto& adaptation = arguments.adapt.adaptation)
    json["adaptation"] = to_json(AdaptationChoice{.adaptation = *adaptation});
  std::vector<nlohmann::ordered_json> candidates;
  if (arguments.candidates > 0) candidates = candidates_of(run, score, arguments.candidates);
  print_json_with_list(json, "scores", score.ids.size(), [&](std::size_t i) {
    nlohmann::ordered_json one;
    add_text(one, "character", run.checkpoint.vocabulary.symbol(score.ids[i]));
    one["loss"] = score.losses[i];
    if (arguments.candidates > 0) one["candidates"] = candidates[i];
    return one;
  });
}

std::string decode(const LoadedRun& run, const Score& score, std::int64_t begin, std::int64_t end) {
  return run.checkpoint.vocabulary.decode({score.ids.begin() + begin, score.ids.begin() + end});
}

/// Of a model of bytes, those of one character are one symbol, whose loss is their sum.
std::vector<ScoredSymbol> symbols_of(const LoadedRun& run, const Score& score, std::int64_t begin, std::int64_t end) {
  std::vector<ScoredSymbol> symbols;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::string symbol = run.checkpoint.vocabulary.symbol(score.ids[static_cast<std::size_t>(i)]);
    const double loss = score.losses[static_cast<std::size_t>(i)];
    const bool begun = !symbols.empty() && begins_character(symbols.back().symbol);
    const std::string longer = begun ? symbols.back().symbol + symbol : "";
    if (!symbol.empty() && (begins_character(longer) || (begun && is_utf8(longer))))
      symbols.back() = {longer, symbols.back().loss + loss};
    else
      symbols.push_back({symbol, loss});
  }
  return symbols;
}

/// The lines of the first `show` characters, each after its mean loss.
void print_text_lines(const Arguments& arguments, const LoadedRun& run, const Score& score, bool color) {
  for (const LineLoss& line : score.lines) {
    if (line.begin >= arguments.show) break;
    std::int64_t end = std::min(line.end, arguments.show);
    while (end > line.begin && std::string("\r\n").find(decode(run, score, end - 1, end)) != std::string::npos) --end;
    const std::string shown =
        color ? colored_by_surprise(symbols_of(run, score, line.begin, end)) : decode(run, score, line.begin, end);
    std::printf("%5s  ", format_fixed(line.loss, 2).c_str());
    color ? void(std::fwrite(shown.data(), 1, shown.size(), stdout)) : print_text(shown);
    std::printf("\n");
  }
  if (const std::int64_t more = std::ssize(score.ids) - arguments.show; more > 0)
    std::printf("... %s; --show takes another number\n",
                format_count(more, "more " + unit_word(run.checkpoint.vocabulary.units())).c_str());
  std::printf("\n");
}

/// The five lines of at least 10 characters with the highest mean.
void print_worst_lines(const LoadedRun& run, const Score& score) {
  std::vector<LineLoss> long_ones;
  std::ranges::copy_if(score.lines, std::back_inserter(long_ones),
                       [](const LineLoss& line) { return line.end - line.begin >= 10; });
  if (long_ones.size() < 6) return;
  std::ranges::stable_sort(long_ones, [](const LineLoss& a, const LineLoss& b) { return a.loss > b.loss; });
  constexpr std::size_t most = 60, before = 20;  // columns of a line, and of its loss and number
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  const std::size_t shown_columns = columns == 0 ? most : std::clamp(columns, before + 20, before + most) - before;
  std::printf("hardest lines\n");
  for (const LineLoss& line : std::span(long_ones).first(5)) {
    std::string shown = decode(run, score, line.begin, std::min(line.end, line.begin + 200));
    while (shown.ends_with('\n') || shown.ends_with('\r')) shown.pop_back();
    std::printf("%5s  line %lld: ", format_fixed(line.loss, 2).c_str(), static_cast<long long>(line.number));
    print_text(first_columns(shown, shown_columns));
    std::printf("\n");
  }
  std::printf("\n");
}

void print_means(const char* heading, const std::vector<MeanLoss>& means) {
  if (means.empty()) return;
  Table table({heading, "loss", "characters"});
  for (const MeanLoss& mean : means) table.add({mean.of, format_fixed(mean.loss, 4), format_count(mean.characters)});
  print_table(table);
  std::printf("\n");
}

void print_for_people(const Arguments& arguments, LoadedRun& run, const Score& score) {
  const bool color = uses_color(arguments.output.color, STDOUT_FILENO);
  if (run.leaks()) std::printf("%s\n", leaks_label);
  print_text_lines(arguments, run, score, color);
  print_worst_lines(run, score);
  const bool documents = run.checkpoint.vocabulary.document() >= 0;
  print_means(documents ? "characters of its document before" : "characters seen before", score.by_context);
  print_means("kind", score.by_class);
  print_lines("loss " + format_loss(score.mean) + ": " +
              format_count(std::ssize(score.ids), unit_word(run.config().data.units)) + " of " + score.name + ", " +
              windows_text(run.block_size(), half_window(run.block_size())) +
              (run.others().empty() ? "" : ", by " + std::to_string(arguments.runs.size()) + " models as one") +
              (arguments.adapt.adaptation
                   ? ", adapting " + to_text({.adaptation = *arguments.adapt.adaptation}, run.config().data.units)
                   : "") +
              "\n");
}

/// Error usage where several runs have no one validation split to be scored, or no one train split to count.
void check_texts(const Arguments& arguments, LoadedRun& run) {
  if (arguments.file.empty()) check_one_text(run, "; to score them together, give a new text FILE");
  if (arguments.counts) refuse_counts_without_text(run);
  if (arguments.counts) check_one_text(run, ", so they share no training split; leave out --counts");
}

void run_score(const Arguments& arguments) {
  if (arguments.candidates > 0 && !arguments.output.json)
    throw Error(ExitCode::usage, "--candidates needs --json, which holds them");
  if (arguments.candidates > 0 && arguments.adapt.adaptation)
    throw Error(ExitCode::usage, "--candidates needs fixed weights; leave out --adapt");
  LoadedRun run = load_runs(arguments);
  check_texts(arguments, run);
  const Score score = measure(arguments, run);
  if (!arguments.html.empty()) {
    std::vector<ScoredSymbol> symbols = symbols_of(run, score, 0, std::ssize(score.ids));
    for (ScoredSymbol& symbol : symbols)
      if (symbol.symbol.empty()) symbol.symbol = "\n";  // the end of a document
    write_page(arguments.html, text_page(score.name + ": " + format_fixed(score.mean, 4) + " nats per " +
                                             unit_word(run.config().data.units),
                                         symbols));
    log_note("wrote " + arguments.html);
  }
  if (arguments.output.json) return print_as_json(arguments, run, score);
  print_for_people(arguments, run, score);
}

/// Whether the last word is FILE, not a run. A word that stands alone is taken as a run unless it is a file; one that
/// follows runs is taken as FILE unless it names another run.
bool is_text(const std::string& word, bool alone) {
  if (word == standard_input_name || word == sample_text_name || (!alone && is_file(word))) return true;
  const std::filesystem::path run = run_meant(word);
  return alone ? is_file(run) : !is_run(run);
}

}  // namespace

void add_score(Options& options) {
  Arguments& arguments = arguments_for(options, run_score);
  add_runs_argument(options, arguments.runs, arguments.file, is_text);
  options.add("FILE", arguments.file,
              "text to score, after the runs: a file, a folder, or - for standard input (default: the run's "
              "validation split)");
  options.add("--show", arguments.show, "characters to print, coloured by surprise where the terminal has colours")
      .non_negative();
  options.add("--html", arguments.html, "also write the coloured text as a web page").value_name("FILE");
  options.add("--candidates", arguments.candidates, "with --json: the most probable characters at each place")
      .non_negative();
  add_counts_option(options, arguments.counts);
  add_adapt_option(options, arguments.adapt, AdaptTakes::rate);
  add_unknown_option(options, arguments.unknown, "characters");
  add_model_arguments(options, arguments);
}

}  // namespace chargpt
