// `chargpt attention RUN --prompt TEXT`: which characters each head looks at.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "network/model_types.h"
#include "network/walk.h"
#include "report/charts/heat_map.h"
#include "report/log.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  std::string prompt;
  std::int64_t layer = 0, head = 0;
};

std::string name_of(std::int64_t layer, std::int64_t head) {
  return "layer " + std::to_string(layer + 1) + " head " + std::to_string(head + 1);
}

/// One line for each head: what it looks at from the last character.
void print_last_rows(const AttentionWeights& weights, const PromptWindow& window) {
  const std::size_t columns = std::max<std::size_t>(terminal_columns(STDOUT_FILENO), 40);
  const std::size_t indent = name_of(weights.layers - 1, weights.heads - 1).size() + 2;
  std::size_t first = 0, width = 0;  // the last characters that fit
  for (first = window.symbols.size(); first > 0; --first) {
    width += display_width(window.symbols[first - 1]);
    if (isatty(STDOUT_FILENO) != 0 && indent + width > columns) break;
  }
  print_lines("which characters each head looks at from the last one:\n\n");
  const std::vector<std::string> symbols(window.symbols.begin() + static_cast<std::ptrdiff_t>(first),
                                         window.symbols.end());
  std::printf("%*s%s\n", static_cast<int>(indent), "", joined(symbols, "").c_str());
  for (std::int64_t layer = 0; layer < weights.layers; ++layer)
    for (std::int64_t head = 0; head < weights.heads; ++head) {
      const auto row = weights.of_head(layer, head).last(symbols.size());
      std::printf("%-*s%s\n", static_cast<int>(indent), name_of(layer, head).c_str(), bars(row, symbols).c_str());
    }
  print_lines("\nThe higher the block, the more weight. --layer and --head show all rows of one head.\n");
}

void print_matrix(const AttentionWeights& weights, const PromptWindow& window, std::int64_t layer, std::int64_t head) {
  const auto T = static_cast<std::size_t>(weights.T);
  std::printf("%s: each row is a character, and what it looks at\n\n   %s\n", name_of(layer, head).c_str(),
              joined(window.symbols, "").c_str());
  for (std::size_t i = 0; i < T; ++i) {
    const auto row = weights.of_head(layer, head).subspan(i * T, T);
    std::printf("%s%s%s\n", window.symbols[i].c_str(), display_width(window.symbols[i]) == 2 ? " " : "  ",
                bars(row, window.symbols).c_str());
  }
}

void print_as_json(const LoadedRun& run, const AttentionWeights& weights, const PromptWindow& window) {
  nlohmann::ordered_json json = {{"symbols", window.symbols},
                                 {"layers", weights.layers},
                                 {"heads", weights.heads},
                                 {"checkpoint", checkpoint_json(run)}};
  const auto T = static_cast<std::size_t>(weights.T);
  for (std::int64_t layer = 0; layer < weights.layers; ++layer) {
    nlohmann::ordered_json& heads = json["weights"].emplace_back();
    for (std::int64_t head = 0; head < weights.heads; ++head) {
      nlohmann::ordered_json& rows = heads.emplace_back();
      for (std::size_t i = 0; i < T; ++i) rows.push_back(weights.of_head(layer, head).subspan(i * T, T));
    }
  }
  print_json(json, -1);
}

/// 1-based; 0 where it was not given.
void check_place(const char* option, std::int64_t value, std::int64_t count) {
  if (value > count) throw Error(ExitCode::usage, option, " ", value, " is too large; the model has ", count);
}

void run_attention(const Arguments& arguments) {
  const LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.use);
  const PromptWindow window = prompt_window(run, arguments.prompt);
  const AttentionWeights weights = attention_weights(*run.model, window.ids);
  if (weights.layers == 0)
    throw Error(ExitCode::usage, "a ", run.config().model.type, " model attends to nothing: it sees one character");
  check_place("--layer", arguments.layer, weights.layers);
  check_place("--head", arguments.head, weights.heads);
  if (leaks(run.config().model)) log_note("this model leaks: every character looks at the whole window");
  if (arguments.output.json) return print_as_json(run, weights, window);
  if (arguments.layer == 0 && arguments.head == 0) return print_last_rows(weights, window);
  print_matrix(weights, window, std::max<std::int64_t>(1, arguments.layer) - 1,
               std::max<std::int64_t>(1, arguments.head) - 1);
}

}  // namespace

void add_attention(Options& options) {
  Arguments& arguments = arguments_for(options, run_attention);
  add_run_argument(options, arguments.run);
  options.add("--prompt", arguments.prompt, "the text to look at").required().may_be_empty();
  const Option& layer =
      options.add("--layer", arguments.layer, "layer of a head to show whole (1: the first)").positive();
  const Option& head =
      options.add("--head", arguments.head, "head of this layer to show whole (1: the first)").positive();
  add_weights_options(options, arguments);
  add_output_arguments(options, arguments.output);
  options.find("--json").excludes(layer).excludes(head);  // it has every weight
}

}  // namespace chargpt
