// `chargpt score RUN… [FILE|-]`: the loss of each character of a text under one model or several as one, and its
// causes.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/prepare.h"
#include "cli/runs/run_text.h"
#include "evaluate/shared_text.h"
#include "evaluate/text_score.h"
#include "page/page.h"
#include "predict/filters.h"
#include "report/charts/heat_map.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "text/text_listing.h"

namespace chargpt {

namespace {

struct Arguments : ScoringArguments {
  std::string file, html;
  std::int64_t show = 2000, candidates = 0;
};

/// A text with its losses. losses[i] is the loss of token i + 1.
struct Score {
  std::string name;
  TokenView text;
  const Vocabulary& vocabulary;
  std::vector<float> losses;
  double mean = 0;

  std::int64_t size() const { return std::ssize(losses); }
  std::string symbol(std::int64_t i) const { return vocabulary.symbol(text[i + 1]); }
  /// The text of the losses [begin, end); -1: the text's first token.
  std::string text_of(std::int64_t begin, std::int64_t end) const {
    return vocabulary.decode(text.slice(begin + 1, end - begin).ids());
  }
};

/// Logs a note if the model was trained on this text.
void note_training_text(const Prepared& prepared) {
  const Corpus* const trained_on = prepared.trained_on();
  if (prepared.scored.held_out || trained_on == nullptr) return;
  tell(shared_text_line(prepared.scored.tokens, trained_on->train(), prepared.scored.units, "this text"));
}

/// Each character with its loss and the most probable ids, best first, from the window in which it is scored.
Json scores_of(Prepared& prepared, const Score& score, std::int64_t count) {
  const Vocabulary& vocabulary = prepared.corpus.vocabulary();
  const WindowCut windows(score.text, prepared.runs.block_size(), prepared.scored.stride);
  const auto V = static_cast<std::size_t>(vocabulary.size());
  Json all = Json::array();
  for (std::int64_t i = 0; i < windows.count(); ++i) {
    const WindowCut::Window window = windows[i];
    std::vector<float> logits(static_cast<std::size_t>(window.length) * V);  // (T, V)
    prepared.runs.predictor().logits({.tokens = score.text, .starts = {&window.begin, 1}, .T = window.length}, logits);
    for (std::int64_t t = window.from; t < window.to; ++t) {
      Json one;
      add_text(one, "character", vocabulary.symbol(score.text[window.begin + t + 1]));
      one["loss"] = score.losses[all.size()];
      const std::span<const float> row = std::span(logits).subspan(static_cast<std::size_t>(t) * V, V);
      for (const Candidate& candidate : best_candidates(row, count)) {
        Json& other = one["candidates"].emplace_back(Json{{"id", candidate.id}});
        add_text(other, "character", vocabulary.symbol(candidate.id));
        other["log_probability"] = candidate.log_probability;
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

Json to_json(const Arguments& arguments, Prepared& prepared, const Score& score) {
  Json json = {{"scored", score.name}};
  add_checkpoints(json, prepared.runs);
  json.update({{"characters", score.size()},
               {"loss", score.mean},
               {"block_size", prepared.runs.block_size()},
               {"leaks", prepared.runs.leaks()},
               {"class", prepared.adapted ? "adaptive" : "frozen"},
               {"counts", to_json(prepared.runs.mixture())}});
  json["losses"] = score.losses;
  if (prepared.adapted) json["adaptation"] = to_json(*prepared.adapted);
  if (arguments.candidates > 0) json["scores"] = scores_of(prepared, score, arguments.candidates);
  return json;
}

/// Symbols of the losses [begin, end); -1: the text's first. In byte-level models the bytes of one character are one
/// symbol, whose loss is their sum.
std::vector<ScoredSymbol> symbols_of(const Score& score, std::int64_t begin, std::int64_t end) {
  std::vector<ScoredSymbol> symbols;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::string symbol = score.symbol(i);
    const double loss = i < 0 ? std::nan("") : score.losses[static_cast<std::size_t>(i)];
    const bool begun = !symbols.empty() && begins_character(symbols.back().symbol);
    const std::string longer = begun ? symbols.back().symbol + symbol : "";
    if (!symbol.empty() && (begins_character(longer) || (begun && is_utf8(longer))))
      symbols.back() = {longer, symbols.back().loss + loss};
    else
      symbols.push_back({symbol, loss});
  }
  return symbols;
}

/// The lines of the first `show` characters, each after its mean loss. The first character has no loss.
void add_lines(Report& report, const Arguments& arguments, const Score& score) {
  const bool color = uses_color(arguments.output.color, STDOUT_FILENO);
  const std::int64_t most = arguments.show - (score.text.document() == TokenView::no_document ? 1 : 0);
  const auto ends_line = [&](std::int64_t i) { return score.symbol(i).find_first_of("\r\n") == 0; };
  for (const LineLoss& line : losses_by_line(score.text, score.losses, score.vocabulary.id_of('\n'))) {
    if (line.begin >= most) break;
    std::int64_t begin = line.begin == 0 && !ends_line(-1) ? -1 : line.begin, end = std::min(line.end, most);
    while (end > begin && ends_line(end - 1)) --end;
    const std::string loss = fmt::format("{:5.2f}  ", line.loss);
    color ? report.paint(loss + colored_by_surprise(symbols_of(score, begin, end)) + "\n")
          : report.draw(loss + score.text_of(begin, end) + "\n");
  }
  if (const std::int64_t more = score.size() - std::max<std::int64_t>(0, most); more > 0)
    report.say(fmt::format("... {}; to show more: --show N\n",
                           format_count(more, "more " + unit_word(score.vocabulary.units()))));
  report.draw("\n");
}

/// The five characters with the highest losses, each after the text before it.
void add_surprises(Report& report, const Score& score) {
  constexpr std::int64_t most = 5, before = 30;
  std::vector<std::int64_t> found;
  const auto loss_of = [&](std::int64_t i) { return score.losses[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = 0; i < score.size(); ++i) {
    found.insert(std::ranges::upper_bound(found, loss_of(i), std::greater(), loss_of), i);
    if (std::ssize(found) > most) found.pop_back();
  }
  std::string text = "most surprising\n";
  for (const std::int64_t i : found)
    text += fmt::format("{:5.2f}  \"{}\" after \"{}\"\n", loss_of(i), printable(score.symbol(i)),
                        printable(score.text_of(std::max<std::int64_t>(-1, i - before), i)));
  report.draw(text + "\n");
}

Report report_of(const Arguments& arguments, Prepared& prepared, const Score& score) {
  const Units units = score.vocabulary.units();
  Report report(arguments.output.json ? to_json(arguments, prepared, score) : Json());
  report.indent = -1;
  if (prepared.runs.leaks()) report.say(line_of(leaks_label, "\n"));
  add_lines(report, arguments, score);
  add_surprises(report, score);
  report.say(fmt::format("loss {}: {} of {}, {}{}{}\n{}", format_loss(score.mean), tokens_text(score.size(), units),
                         score.name, windows_text(prepared.runs.block_size(), prepared.scored.stride),
                         prepared.runs.are_several() ? fmt::format(", by {} models as one", arguments.runs.size()) : "",
                         prepared.adapted ? ", adapting " + to_text(*prepared.adapted, units) : "",
                         part_line(prepared.scored)));
  return report;
}

void write_html(const Arguments& arguments, const Score& score) {
  std::vector<ScoredSymbol> symbols = symbols_of(score, -1, score.size());
  for (ScoredSymbol& symbol : symbols)
    if (symbol.symbol.empty()) symbol.symbol = "\n";  // the end of a document
  write_page(arguments.html, text_page(score.name + ": " + format_fixed(score.mean, 4) + " nats per " +
                                           unit_word(score.vocabulary.units()),
                                       symbols));
  log_note("wrote " + arguments.html);
}

Report run_score(const Arguments& given) {
  constexpr std::int64_t most_searched = 10'000'000;  // tokens of the training text: two seconds
  Arguments arguments = given;
  if (arguments.candidates > 0 && !arguments.output.json)
    throw Error(ExitCode::usage, "--candidates needs --json; add it");
  if (!arguments.file.empty()) arguments.text = {arguments.file};
  arguments.whole = true;
  Prepared prepared = prepare(arguments, most_searched);
  note_training_text(prepared);
  const std::string name = arguments.file.empty()                  ? "the validation split"
                           : arguments.file == standard_input_name ? "standard input"
                                                                   : arguments.file;
  SplitLoss loss = score(prepared, work_line("scoring the text"));
  const Score score{name, prepared.scored.tokens, prepared.corpus.vocabulary(), std::move(loss.losses), loss.mean};
  if (!arguments.html.empty()) write_html(arguments, score);
  return report_of(arguments, prepared, score);
}

/// Whether the last word is FILE, not a run or a checkpoint. A single word is a run unless it is a file; a word after
/// runs is FILE unless it names another run.
bool is_text(const std::string& word, bool alone) {
  if (word == standard_input_name || word == sample_text_name) return true;
  const std::filesystem::path run = run_meant(word);
  if (is_checkpoint_file(run)) return false;
  return alone ? is_file(run) : is_file(word) || !is_run(run);
}

}  // namespace

void add_score(Options& options) {
  Arguments& arguments = arguments_for(options, run_score);
  add_runs_argument(options, arguments.runs, &arguments.file, is_text);
  options.add("FILE", arguments.file,
              "text to score, after the runs: a file, a folder, or - for standard input (default: the run's "
              "validation split)");
  options.add("--show", arguments.show, "characters to print, coloured by surprise if the terminal has colours")
      .range(0);
  options.add("--html", arguments.html, "also write the coloured text as a web page").value_name("FILE");
  options.add("--candidates", arguments.candidates, "with --json: the most probable characters at each place").range(0);
  add_scoring_arguments(options, arguments, /*has_auto=*/false);
  options.find("--candidates").excludes(options.find("--adapt"));  // each is of the same weights
}

}  // namespace chargpt
