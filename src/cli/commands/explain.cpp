// `chargpt explain RUN [--prompt TEXT]`: one window walked through a model, operation by operation.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/names.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
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
#include "report/terminal.h"

namespace chargpt {

namespace {

constexpr const char *scores_name = "scores of the last token", *weights_name = "weights of the last token",
                     *probabilities_name = "probabilities of the next character";

struct Arguments : ModelArguments {
  std::string prompt, page;
  const Option* prompt_option = nullptr;
  bool all = false;
};

std::span<const float> last_row(const Operation& operation) {
  const auto width = static_cast<std::size_t>(operation.shape.back());
  return std::span(operation.values).last(width);
}

std::string signed_number(float value) {
  return (value < 0 ? "" : "+") + format_fixed(value, 3);
}

/// The first numbers of the last token's row, and how large all of them are.
void print_numbers(const Operation& operation, const PromptWindow& window) {
  const auto row = last_row(operation);
  double squares = 0;
  for (const float value : row) squares += double{value} * value;
  std::string line = "    row " + std::to_string(window.ids.size()) + ":";
  for (const float value : row.first(std::min<std::size_t>(5, row.size()))) line += " " + signed_number(value);
  if (row.size() > 5) line += " ...";
  std::printf("%s   root mean square %s\n", line.c_str(),
              format_fixed(std::sqrt(squares / static_cast<double>(row.size())), 3).c_str());
}

/// Of each head the last 8, four on a line.
void print_scores(const Operation& operation, const PromptWindow& window) {
  const std::size_t T = window.symbols.size(), first = T > 8 ? T - 8 : 0;
  for (std::int64_t head = 0; head < operation.shape.front(); ++head) {
    const auto row = std::span(operation.values).subspan(static_cast<std::size_t>(head) * T, T);
    std::printf("    head %lld:%s", static_cast<long long>(head + 1), first > 0 ? " ..." : "");
    for (std::size_t j = first; j < T; ++j)
      std::printf("%s  %s %8s", j > first && (j - first) % 4 == 0 ? "\n           " : "", window.symbols[j].c_str(),
                  signed_number(row[j]).c_str());
    std::printf("\n");
  }
}

constexpr std::int64_t candidates_shown = 5;

void print_logits(const Operation& operation, const PromptWindow& window, const Vocabulary& vocabulary) {
  const auto row = last_row(operation);
  std::printf("    row %zu, the highest:", window.ids.size());
  for (const Candidate& best : best_candidates(row, candidates_shown))
    std::printf("  %s %s", visible_symbol(vocabulary.symbol(best.id)).c_str(),
                signed_number(row[static_cast<std::size_t>(best.id)]).c_str());
  std::printf("\n");
}

void print_probabilities(const Operation& logits, const Vocabulary& vocabulary) {
  double rest = 1;
  for (const Candidate& best : best_candidates(last_row(logits), candidates_shown)) {
    const double probability = std::exp(best.log_probability);
    std::string bar;
    for (long column = 0; column < std::lround(40 * probability); ++column) bar += "█";
    std::printf("    %s %6s %%  %s\n", visible_symbol(vocabulary.symbol(best.id)).c_str(),
                format_fixed(100 * probability, 1).c_str(), bar.c_str());
    rest -= probability;
  }
  if (vocabulary.size() > candidates_shown)
    std::printf("    the other %lld together %s %%\n", static_cast<long long>(vocabulary.size() - candidates_shown),
                format_fixed(100 * std::max(rest, 0.0), 1).c_str());
}

/// Of the weights that a character gives itself, the least of all rows.
double least_own_weight(const AttentionWeights& weights) {
  double least = 1;
  for (std::int64_t t = 0; t < weights.T; ++t)
    least = std::min<double>(least, weights.of_head(0, 0)[static_cast<std::size_t>(t * (weights.T + 1))]);
  return least;
}

std::string share_at_least(double share) {
  return share > 0.999 ? "more than 99.9 %" : "at least " + format_fixed(std::floor(1000 * share) / 10, 1) + " %";
}

/// What a learner should see in the weights of this kind of model.
std::string lesson(const ModelConfig& model, const AttentionWeights& weights) {
  const std::string T = std::to_string(weights.T);
  if (model.type == "average" && !model.causal)
    return "Nothing is masked: row t is the mean of the whole window, character t + 1 included." +
           (weights.T == 1 ? std::string()
                           : " Rows 1 to " + std::to_string(weights.T - 1) + " of " + T +
                                 " see their own target: the model leaks.");
  if (model.type == "average")
    return "Row t is the mean of the characters up to t: none sees its target, and their order is lost.";
  if (model.type == "masked")
    return "A character's score with itself, x · x, is a sum of squares and so nearly always the highest: each of "
           "the " +
           T + " gives itself " + share_at_least(least_own_weight(weights)) + " of its weight.";
  return "Each head weighs the characters up to the row's own, and that one too; its weights sum to 1.";
}

/// In lines that fit the terminal, 80 columns at most, all `indent` columns in.
void print_wrapped(const std::string& text, std::size_t indent) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO), widest = 80;
  const std::string lines = wrapped(text, indent, columns == 0 ? widest : std::min(columns, widest));
  std::printf("%*s%s", static_cast<int>(indent), "", lines.c_str());
}

std::string article(const std::string& word) {
  return (std::string_view("aeiou").find(word.front()) == std::string_view::npos ? "a " : "an ") + word;
}

std::string introduction(const LoadedRun& run, const PromptWindow& window) {
  const ModelConfig& model = run.config().model;
  const std::string T = std::to_string(window.ids.size());
  std::string text = T + (window.ids.size() == 1 ? " character walks" : " characters walk") + " through " +
                     article(model.type) + " model, one row each: T = " + T + ", C = " + std::to_string(model.n_embd) +
                     " channels";
  if (run.model->plan().qkv_source == cpu::QkvSource::projected)
    text += ", nh = " + std::to_string(model.n_head) + (model.n_head == 1 ? " head" : " heads") +
            " of hs = " + std::to_string(head_width(model));
  return text + ", V = " + std::to_string(run.model->vocab_size()) +
         " symbols. x is what one operation hands to the next, wte and wpe are tables of embeddings, W and b each "
         "operation's own weights and biases.";
}

/// The heading that an operation stands under; none where it is not shown: of the blocks after the first only what goes
/// on from them is, unless all are asked for.
std::optional<std::string> heading_of(const Arguments& arguments, const std::vector<Operation>& all, std::size_t at) {
  const std::int64_t layer = all[at].layer;
  const bool goes_on = at + 1 == all.size() || all[at + 1].layer != layer;
  if (layer > 0 && !arguments.all && !goes_on) return std::nullopt;
  if (layer >= 0)
    return "layer " + std::to_string(layer + 1) +
           (layer > 0 && !arguments.all ? ", the same operations; --all shows them" : "");
  const bool after = std::ranges::any_of(std::span(all).first(at), [](const Operation& o) { return o.layer >= 0; });
  return after ? "after the last layer" : "";
}

std::string sizes_text(const Operation& operation) {
  std::string text;
  for (const std::int64_t size : operation.shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  if (operation.parameters > 0) text += ", " + format_count(operation.parameters) + " parameters";
  return text;
}

constexpr const char* no_look_back =
    "No operation looks back: the rows before the last have no part in its probabilities.";

void print_for_people(const Arguments& arguments, const LoadedRun& run, const PromptWindow& window,
                      const std::vector<Operation>& operations, const AttentionWeights& weights) {
  std::string part;
  std::printf("%s\n", joined(window.symbols, "").c_str());
  print_wrapped(introduction(run, window), 0);
  print_wrapped("Per operation: shape, formula, and the first numbers of row " + std::to_string(window.ids.size()) +
                    ", the last, with their root mean square.",
                0);
  std::printf("\n");
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const Operation& operation = operations[at];
    const std::optional<std::string> name = heading_of(arguments, operations, at);
    if (!name) continue;
    if (*name != part) std::printf("\n%s\n", name->c_str());
    part = *name;
    std::printf("  %-34s %s\n    %s\n", operation.name.c_str(), sizes_text(operation).c_str(),
                operation.formula.c_str());
    if (operation.name == weights_name) {
      print_text(heads_text(operation.values, window.symbols));
      print_wrapped(lesson(run.config().model, weights), 4);
    } else if (operation.name == scores_name)
      print_scores(operation, window);
    else if (operation.name == probabilities_name)
      print_probabilities(operations[at - 1], run.checkpoint.vocabulary);
    else if (operation.name == "logits")
      print_logits(operation, window, run.checkpoint.vocabulary);
    else
      print_numbers(operation, window);
  }
  if (weights.layers == 0) {
    std::printf("\n");
    print_wrapped(no_look_back, 0);
  }
}

std::string picture_of_heads(const AttentionWeights& weights, std::int64_t layer, const PromptWindow& window) {
  std::vector<HeatMap> maps;
  for (std::int64_t head = 0; head < weights.heads; ++head)
    maps.push_back({"head " + std::to_string(head + 1), weights.of_head(layer, head)});
  return heat_maps_svg(maps, window.symbols, std::min<std::int64_t>(4, weights.heads));
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
  if (operation.shape.back() == vocabulary.size() && vocabulary.size() <= 100)
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
                  .rows = row_labels(operation, window),
                  .columns = column_labels(operation, window, run.checkpoint.vocabulary),
                  .values = operation.values,
                  .attention = {}};
    if (operation.name == weights_name) {
      step.remark = lesson(run.config().model, weights) + " All rows:";
      step.attention = picture_of_heads(weights, operation.layer, window);
    }
    if (at + 1 == operations.size() && weights.layers == 0) step.remark = no_look_back;
    steps.push_back(std::move(step));
  }
  return walk_page(joined(window.symbols, "") + ", walked through " + run.config().name, introduction(run, window),
                   steps);
}

void print_as_json(const LoadedRun& run, const PromptWindow& window, const std::vector<Operation>& operations) {
  nlohmann::ordered_json json = {
      {"symbols", window.symbols}, {"ids", window.ids}, {"checkpoint", checkpoint_json(run)}};
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Operation& operation : operations)
    all.push_back(
        {{"layer", operation.layer < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(operation.layer)},
         {"name", operation.name},
         {"formula", operation.formula},
         {"shape", operation.shape},
         {"parameters", operation.parameters},
         {"values", operation.values}});
  json["operations"] = std::move(all);
  print_json(json, -1);
}

/// Without --prompt the first window of the validation split.
PromptWindow window_of(const Arguments& arguments, const LoadedRun& run) {
  if (arguments.prompt_option->given()) return prompt_window(run, arguments.prompt);
  const Corpus corpus = text_of_run(run, run.config().data, arguments.output);
  PromptWindow window;
  for (std::int64_t i = 0; i < std::min(run.model->block_size(), corpus.val().size()); ++i) {
    window.ids.push_back(corpus.val()[i]);
    window.symbols.push_back(visible_symbol(corpus.vocabulary().symbol(window.ids.back())));
  }
  log_note("no --prompt: the first window of the validation split, ",
           format_count(std::ssize(window.ids), "character"));
  return window;
}

void run_explain(const Arguments& arguments) {
  const LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.use);
  const PromptWindow window = window_of(arguments, run);
  const std::vector<Operation> operations = walk(*run.model, window.ids);
  if (arguments.output.json && arguments.page.empty()) return print_as_json(run, window, operations);
  const AttentionWeights weights = attention_weights(*run.model, window.ids);
  if (!arguments.page.empty()) {
    write_page(arguments.page, page_of(arguments, run, window, operations, weights));
    log_note("wrote ", arguments.page);
  }
  if (arguments.output.json) return print_as_json(run, window, operations);
  if (arguments.page.empty()) print_for_people(arguments, run, window, operations, weights);
}

}  // namespace

void add_explain(Options& options) {
  Arguments& arguments = arguments_for(options, run_explain);
  add_run_argument(options, arguments.run);
  arguments.prompt_option =
      &options
           .add("--prompt", arguments.prompt,
                "the text to walk through the model (default: the first window of the validation split)")
           .may_be_empty();
  options.add("--page", arguments.page, "a web page instead, each matrix as a picture").value_name("FILE");
  options.flag("--all", arguments.all, "every operation of every layer, not only of the first");
  add_weights_options(options, arguments);
  add_output_arguments(options, arguments.output);
}

}  // namespace chargpt
