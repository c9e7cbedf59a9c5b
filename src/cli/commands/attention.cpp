// `chargpt attention RUN --prompt TEXT`: which characters each head looks at.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "network/model_types.h"
#include "network/walk.h"
#include "report/charts/heat_map.h"
#include "report/format.h"
#include "report/log.h"
#include "report/table.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  std::string prompt;
  std::int64_t layer = 0, head = 0;  ///< 1-based; 0: not given
  bool numbers = false;
};

/// Of each head the last row: what it looks at from the last character.
void print_last_rows(const AttentionWeights& weights, const PromptWindow& window) {
  print_lines("which characters each head looks at from the last one; the higher the block, the more weight\n");
  for (std::int64_t layer = 0; layer < weights.layers; ++layer) {
    std::vector<float> rows;
    for (std::int64_t head = 0; head < weights.heads; ++head) {
      const auto row = weights.of_head(layer, head).last(window.symbols.size());
      rows.insert(rows.end(), row.begin(), row.end());
    }
    print_text("\nlayer " + std::to_string(layer + 1) + "\n" + heads_text(rows, window.symbols));
  }
  print_lines("\n--layer and --head show all rows of one head, --numbers as numbers.\n");
}

/// In percent; on a terminal of the last characters that fit.
void print_numbers(std::span<const float> weights, const std::vector<std::string>& symbols) {
  constexpr std::size_t column = 7;  // "  100.0"
  const std::size_t T = symbols.size(), columns = terminal_columns(STDOUT_FILENO),
                    first = columns == 0 ? 0 : T - std::min(T, std::max<std::size_t>(1, (columns - 2) / column));
  std::vector<std::string> headings(symbols.begin() + static_cast<std::ptrdiff_t>(first), symbols.end());
  headings.insert(headings.begin(), "%");
  Table table(headings);
  for (std::size_t i = first; i < T; ++i) {
    std::vector<std::string> cells{symbols[i]};
    for (std::size_t j = first; j < T; ++j) cells.push_back(format_fixed(100 * weights[i * T + j], 1));
    table.add(std::move(cells));
  }
  print_text(table.text());
}

void print_bars(std::span<const float> weights, const std::vector<std::string>& symbols) {
  const std::size_t T = symbols.size();
  std::string text = "   " + joined(symbols, "") + "\n";
  for (std::size_t i = 0; i < T; ++i)
    text +=
        symbols[i] + (display_width(symbols[i]) == 2 ? " " : "  ") + bars(weights.subspan(i * T, T), symbols) + "\n";
  print_text(text);
}

void print_as_json(const LoadedRun& run, const AttentionWeights& weights, const PromptWindow& window) {
  nlohmann::ordered_json json = {{"symbols", window.symbols},
                                 {"layers", weights.layers},
                                 {"heads", weights.heads},
                                 {"checkpoint", checkpoint_json(run)}};
  const auto T = static_cast<std::size_t>(weights.T);
  for (std::int64_t layer = 0; layer < weights.layers; ++layer) {
    nlohmann::ordered_json& heads = json["attention_weights"].emplace_back();
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
  if (arguments.layer == 0 && arguments.head == 0 && !arguments.numbers) return print_last_rows(weights, window);
  const std::int64_t layer = std::max<std::int64_t>(1, arguments.layer),
                     head = std::max<std::int64_t>(1, arguments.head);
  print_lines(line_of("layer ", layer, " head ", head, ": each row is a character, and what it looks at\n\n"));
  (arguments.numbers ? print_numbers : print_bars)(weights.of_head(layer - 1, head - 1), window.symbols);
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
  const Option& numbers = options.flag("--numbers", arguments.numbers, "all rows of a head as numbers, in percent");
  add_weights_options(options, arguments);
  add_output_arguments(options, arguments.output);
  options.find("--json").excludes(layer).excludes(head).excludes(numbers);  // it has every weight
}

}  // namespace chargpt
