// `chargpt explain RUN [--prompt TEXT]`: one window walked through a model, operation by operation.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/names.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "network/model_types.h"
#include "network/walk.h"
#include "page/page.h"
#include "predict/filters.h"
#include "report/charts/heat_map.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

constexpr const char *scores_name = "scores of the last token", *weights_name = "weights of the last token",
                     *probabilities_name = "probabilities of the next character";

struct Arguments : ModelArguments {
  std::string prompt, page;
  bool all = false;
};

std::span<const float> last_row(const Operation& operation) {
  const auto width = static_cast<std::size_t>(operation.shape.back());
  return std::span(operation.values).last(width);
}

/// The first numbers of the last token's row, and the root mean square of the row.
std::string numbers_text(const Operation& operation, const PromptWindow& window) {
  const auto row = last_row(operation);
  const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  std::string numbers;
  for (const float value : row.first(std::min<std::size_t>(5, row.size()))) numbers += fmt::format(" {:+.3f}", value);
  return fmt::format("    row {}:{}{}   root mean square {:.3f}\n", window.ids.size(), numbers,
                     row.size() > 5 ? " ..." : "", std::sqrt(squares / static_cast<double>(row.size())));
}

/// The last 8 scores of each head, four on a line.
std::string scores_text(const Operation& operation, const PromptWindow& window) {
  const std::size_t T = window.symbols.size(), first = T > 8 ? T - 8 : 0;
  std::string text;
  for (std::int64_t head = 0; head < operation.shape.front(); ++head) {
    const auto row = std::span(operation.values).subspan(static_cast<std::size_t>(head) * T, T);
    text += fmt::format("    head {}:{}", head + 1, first > 0 ? " ..." : "");
    for (std::size_t j = first; j < T; ++j)
      text += fmt::format("{}  {} {:>+8.3f}", j > first && (j - first) % 4 == 0 ? "\n           " : "",
                          window.symbols[j], row[j]);
    text += "\n";
  }
  return text;
}

/// Wraps a text to the terminal, 80 columns at most, and indents it by `indent` columns.
std::string narrow(const std::string& text, std::size_t indent) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO), widest = 80;
  return std::string(indent, ' ') + wrapped(text, indent, columns == 0 ? widest : std::min(columns, widest)) + "\n";
}

/// The first number of the last token's weighted sums as a sum of products: the weights of head 1 times the first
/// number of each token that they weigh.
std::string products_text(const std::vector<Operation>& operations, std::size_t at, const PromptWindow& window) {
  const Operation &weights = operations[at - 1],
                  &weighed = operations[at - (operations[at - 2].name == scores_name ? 3 : 2)];
  const std::size_t T = window.symbols.size(), width = static_cast<std::size_t>(weighed.shape.back()), most = 8;
  std::string sum = fmt::format("first number, by head 1: {:+.3f} =", last_row(operations[at]).front());
  for (std::size_t s = 0; s < std::min(T, most); ++s)
    sum += fmt::format("{} {:.3f} · {:+.3f}", s > 0 ? " +" : "", weights.values[s], weighed.values[s * width]);
  return narrow(sum + (T > most ? " + ..." : ""), 4);
}

constexpr std::int64_t candidates_shown = 5;

std::string logits_text(const Operation& operation, const PromptWindow& window, const Vocabulary& vocabulary) {
  const auto row = last_row(operation);
  std::string text = fmt::format("    row {}, the highest:", window.ids.size());
  for (const Candidate& best : best_candidates(row, candidates_shown))
    text +=
        fmt::format("  {} {:+.3f}", visible_symbol(vocabulary.symbol(best.id)), row[static_cast<std::size_t>(best.id)]);
  return text + "\n";
}

std::string probabilities_text(const Operation& logits, const Vocabulary& vocabulary) {
  double rest = 1;
  std::string text;
  for (const Candidate& best : best_candidates(last_row(logits), candidates_shown)) {
    const double probability = std::exp(best.log_probability);
    std::string bar;
    for (long column = 0; column < std::lround(40 * probability); ++column) bar += "█";
    text += fmt::format("    {} {:6.1f} %  {}\n", visible_symbol(vocabulary.symbol(best.id)), 100 * probability, bar);
    rest -= probability;
  }
  if (vocabulary.size() <= candidates_shown) return text;
  return text + fmt::format("    the other {} together {:.1f} %\n", vocabulary.size() - candidates_shown,
                            100 * std::max(rest, 0.0));
}

/// An explanation of the weights of this type of model.
std::string lesson(const ModelConfig& model) {
  if (model.type == "average" && !model.causal)
    return "Nothing is masked: row t is the mean of the whole window, character t + 1 included. All rows but the last "
           "see their own target: the model leaks.";
  if (model.type == "average")
    return "Row t is the mean of the characters up to t: none sees its target, and their order is lost.";
  if (model.type == "masked")
    return "A character's score with itself, x · x, is a sum of squares and so nearly always the highest: each looks "
           "at itself.";
  return "Each head weights the characters up to and including the row's own; its weights sum to 1.";
}

std::string introduction(const LoadedRun& run, const PromptWindow& window) {
  const ModelConfig& model = run.config().model;
  const std::size_t T = window.ids.size();
  const std::string heads =
      run.model->plan().qkv_source != cpu::QkvSource::projected
          ? ""
          : fmt::format(", nh = {} of hs = {}", format_count(model.n_head, "head"), head_width(model));
  return fmt::format(
      "{} through a model of type {}, one row each: T = {}, C = {} channels{}, V = {} symbols. x is what one operation "
      "hands to the next, wte and wpe are tables of embeddings, W and b each operation's own weights and biases.",
      format_count(std::ssize(window.ids), "character"), model.type, T, model.n_embd, heads, run.model->vocab_size());
}

/// The heading of an operation; nullopt if it is not shown: unless --all, blocks after the first one show only their
/// last operation.
std::optional<std::string> heading_of(const Arguments& arguments, const std::vector<Operation>& all, std::size_t at) {
  const std::int64_t layer = all[at].layer;
  if (layer > 0 && !arguments.all && all[at + 1].layer == layer) return std::nullopt;  // logits come last
  if (layer >= 0)
    return fmt::format("layer {}{}", layer + 1,
                       layer > 0 && !arguments.all ? ", the same operations; --all shows them" : "");
  const bool after = std::ranges::any_of(std::span(all).first(at), [](const Operation& o) { return o.layer >= 0; });
  return after ? "after the last layer" : "";
}

std::string sizes_text(const Operation& operation) {
  std::string text;
  for (const std::int64_t size : operation.shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return operation.parameters > 0 ? text + ", " + format_count(operation.parameters) + " parameters" : text;
}

std::string values_text(const std::vector<Operation>& operations, std::size_t at, const LoadedRun& run,
                        const PromptWindow& window) {
  const Operation& operation = operations[at];
  if (operation.name == weights_name)
    return heads_text(operation.values, window.symbols) + narrow(lesson(run.config().model), 4);
  if (operation.name == scores_name) return scores_text(operation, window);
  if (operation.name == probabilities_name) return probabilities_text(operations[at - 1], run.checkpoint.vocabulary);
  if (operation.name == "logits") return logits_text(operation, window, run.checkpoint.vocabulary);
  const bool sums = operation.name == "weighted sums";
  return numbers_text(operation, window) + (sums ? products_text(operations, at, window) : "");
}

std::string text_of(const Arguments& arguments, const LoadedRun& run, const PromptWindow& window,
                    const std::vector<Operation>& operations) {
  std::string part, text = joined(window.symbols, "") + "\n" + narrow(introduction(run, window), 0);
  text +=
      narrow("Per operation: shape, formula, and the first numbers of the last row, with their root mean square.", 0);
  text += "\n";
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const std::optional<std::string> name = heading_of(arguments, operations, at);
    if (!name) continue;
    if (*name != part) text += "\n" + *name + "\n";
    part = *name;
    text +=
        fmt::format("  {:<34} {}\n    {}\n", operations[at].name, sizes_text(operations[at]), operations[at].formula) +
        values_text(operations, at, run, window);
  }
  return text;
}

/// The attention weights of each head; small pictures without labels if the window is long.
std::vector<Matrix> heads_of(const AttentionWeights& weights, std::int64_t layer, const PromptWindow& window) {
  constexpr std::int64_t most_labelled = 16;
  std::vector<Matrix> heads;
  for (std::int64_t head = 0; head < weights.heads; ++head) {
    const std::span<const float> values = weights.of_head(layer, head);
    heads.push_back(weights.T <= most_labelled
                        ? Matrix{window.symbols, window.symbols, values}
                        : Matrix{std::vector<std::string>(window.symbols.size()), {}, values, 220.0 / weights.T});
  }
  return heads;
}

std::vector<std::string> row_labels(const Operation& operation, const PromptWindow& window) {
  if (operation.name == probabilities_name) return {window.symbols.back()};
  if (operation.name != scores_name && operation.name != weights_name) return window.symbols;
  std::vector<std::string> labels;
  for (std::int64_t head = 0; head < operation.shape.front(); ++head)
    labels.push_back("head " + std::to_string(head + 1));
  return labels;
}

std::vector<std::string> column_labels(const Operation& operation, const PromptWindow& window,
                                       const Vocabulary& vocabulary) {
  if (operation.name == scores_name || operation.name == weights_name) return window.symbols;
  std::vector<std::string> labels;
  const bool of_symbols = operation.name == "logits" || operation.name == probabilities_name;
  if (of_symbols && vocabulary.size() <= 100)
    for (std::int64_t id = 0; id < vocabulary.size(); ++id) labels.push_back(visible_symbol(vocabulary.symbol(id)));
  return labels;
}

std::string page_of(const Arguments& arguments, const LoadedRun& run, const PromptWindow& window,
                    const std::vector<Operation>& operations, const AttentionWeights& weights) {
  std::vector<WalkStep> steps;
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const Operation& operation = operations[at];
    const std::optional<std::string> part = heading_of(arguments, operations, at);
    if (!part) continue;
    WalkStep step{.part = *part,
                  .name = operation.name,
                  .formula = operation.formula,
                  .sizes = sizes_text(operation),
                  .remark = {},
                  .matrix = {.rows = row_labels(operation, window),
                             .columns = column_labels(operation, window, run.checkpoint.vocabulary),
                             .values = operation.values}};
    if (operation.name == weights_name) {
      step.remark = lesson(run.config().model) + " All rows:";
      step.heads = heads_of(weights, operation.layer, window);
    }
    steps.push_back(std::move(step));
  }
  return walk_page(joined(window.symbols, "") + ", walked through " + run.config().name, introduction(run, window),
                   steps);
}

Json to_json(const LoadedRun& run, const PromptWindow& window, const std::vector<Operation>& operations) {
  Json json = {{"symbols", window.symbols}, {"ids", window.ids}, {"checkpoint", checkpoint_json(run)}};
  for (const Operation& operation : operations)
    json["operations"].push_back({{"layer", operation.layer < 0 ? Json() : Json(operation.layer)},
                                  {"name", operation.name},
                                  {"formula", operation.formula},
                                  {"shape", operation.shape},
                                  {"parameters", operation.parameters},
                                  {"values", operation.values}});
  return json;
}

/// The prompt, or without --prompt the first window of the validation split.
PromptWindow window_of(const Arguments& arguments, const LoadedRun& run) {
  if (!arguments.prompt.empty()) return prompt_window(run, arguments.prompt);
  const Corpus corpus = text_of_run(run);
  PromptWindow window;
  for (std::int64_t i = 0; i < std::min(run.model->block_size(), corpus.val().size()); ++i) {
    window.ids.push_back(corpus.val()[i]);
    window.symbols.push_back(visible_symbol(corpus.vocabulary().symbol(window.ids.back())));
  }
  log_note("no --prompt: the first window of the validation split, ",
           format_count(std::ssize(window.ids), "character"));
  return window;
}

Report run_explain(const Arguments& arguments) {
  const LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.use);
  const PromptWindow window = window_of(arguments, run);
  const std::vector<Operation> operations = walk(*run.model, window.ids);
  Report report(arguments.output.json ? to_json(run, window, operations) : Json());
  report.indent = -1;
  if (arguments.page.empty()) {
    report.draw(text_of(arguments, run, window, operations));
    return report;
  }
  write_page(arguments.page, page_of(arguments, run, window, operations, attention_weights(*run.model, window.ids)));
  log_note("wrote ", arguments.page);
  return report;
}

}  // namespace

void add_explain(Options& options) {
  Arguments& arguments = arguments_for(options, run_explain);
  add_run_argument(options, arguments.run);
  options.add("--prompt", arguments.prompt,
              "the text to walk through the model (default: the first window of the validation split)");
  options.add("--page", arguments.page, "a web page instead, each matrix as a picture").value_name("FILE");
  options.flag("--all", arguments.all, "every operation of every layer, not only of the first");
  add_weights_options(options, arguments);
}

}  // namespace chargpt
