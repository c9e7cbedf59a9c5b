// `chargpt attention RUN --prompt TEXT`: which characters each head attends to.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "network/model_types.h"
#include "network/walk.h"
#include "report/charts/heat_map.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  std::string prompt;
  std::int64_t layer = 0, head = 0;  ///< 1-based; 0: not given
  bool numbers = false;
};

/// Adds the last row of each head: its weights at the last character.
void add_last_rows(Report& report, const AttentionWeights& weights, const PromptWindow& window) {
  report.say("what each head attends to from the last character; █ is its largest weight, named on the right\n");
  for (std::int64_t layer = 0; layer < weights.layers; ++layer) {
    std::vector<float> rows;
    for (std::int64_t head = 0; head < weights.heads; ++head) {
      const auto row = weights.of_head(layer, head).last(window.symbols.size());
      rows.insert(rows.end(), row.begin(), row.end());
    }
    report.draw(fmt::format("\nlayer {}\n{}", layer + 1, heads_text(rows, window.symbols)));
  }
  report.say("\n--layer and --head show all rows of one head, --numbers as numbers.\n");
}

/// Weights in percent; on a terminal only the last characters that fit.
Table numbers_of(std::span<const float> weights, const std::vector<std::string>& symbols) {
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
  return table;
}

std::string bars_of(std::span<const float> weights, const std::vector<std::string>& symbols) {
  const std::size_t T = symbols.size();
  std::string text = "   " + joined(symbols, "") + "\n";
  for (std::size_t i = 0; i < T; ++i)
    text +=
        symbols[i] + (display_width(symbols[i]) == 2 ? " " : "  ") + bars(weights.subspan(i * T, T), symbols) + "\n";
  return text;
}

Json to_json(const LoadedRun& run, const AttentionWeights& weights, const PromptWindow& window) {
  Json json = {{"symbols", window.symbols},
               {"layers", weights.layers},
               {"heads", weights.heads},
               {"checkpoint", checkpoint_json(run)}};
  const auto T = static_cast<std::size_t>(weights.T);
  for (std::int64_t layer = 0; layer < weights.layers; ++layer) {
    Json& heads = json["attention_weights"].emplace_back();
    for (std::int64_t head = 0; head < weights.heads; ++head) {
      Json& rows = heads.emplace_back();
      for (std::size_t i = 0; i < T; ++i) rows.push_back(weights.of_head(layer, head).subspan(i * T, T));
    }
  }
  return json;
}

/// Checks a 1-based number; 0: not given.
void check_place(const char* option, std::int64_t value, std::int64_t count) {
  if (value > count) throw Error(ExitCode::usage, option, " ", value, " is too large; the model has ", count);
}

Report run_attention(const Arguments& arguments) {
  const LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.use);
  const PromptWindow window = prompt_window(run, arguments.prompt);
  const AttentionWeights weights = attention_weights(*run.model, window.ids);
  if (weights.layers == 0)
    throw Error(ExitCode::usage, "a ", run.config().model.type, " model has no attention: it sees only one character");
  check_place("--layer", arguments.layer, weights.layers);
  check_place("--head", arguments.head, weights.heads);
  if (leaks(run.config().model)) log_note("this model leaks: every character attends to the whole window");
  Report report(arguments.output.json ? to_json(run, weights, window) : Json());
  report.indent = -1;
  if (arguments.layer == 0 && arguments.head == 0 && !arguments.numbers) {
    add_last_rows(report, weights, window);
    return report;
  }
  const std::int64_t layer = std::max<std::int64_t>(1, arguments.layer),
                     head = std::max<std::int64_t>(1, arguments.head);
  const auto rows = weights.of_head(layer - 1, head - 1);
  report.say(fmt::format("layer {} head {}: each row is a character, and what it attends to\n\n", layer, head));
  arguments.numbers ? report.add(numbers_of(rows, window.symbols)) : report.draw(bars_of(rows, window.symbols));
  return report;
}

}  // namespace

void add_attention(Options& options) {
  Arguments& arguments = arguments_for(options, run_attention);
  add_run_argument(options, arguments.run);
  options.add("--prompt", arguments.prompt, "the text to show").required();
  const Option& layer =
      options.add("--layer", arguments.layer, "layer of a head to show whole (1: the first)").positive();
  const Option& head =
      options.add("--head", arguments.head, "head of this layer to show whole (1: the first)").positive();
  const Option& numbers = options.flag("--numbers", arguments.numbers, "all rows of a head as numbers, in percent");
  add_weights_options(options, arguments);
  options.find("--json").excludes(layer).excludes(head).excludes(numbers);  // it has every weight
}

}  // namespace chargpt
