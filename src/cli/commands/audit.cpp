// `chargpt audit RUN`: whether a model writes or recites what it was trained on.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "baseline/shared_text.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/decoding.h"
#include "cli/figures.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/print_text.h"
#include "cli/process.h"
#include "cli/run_text.h"
#include "cli/work_line.h"
#include "evaluate/copied_text.h"
#include "evaluate/split_loss.h"
#include "generate/generate.h"
#include "inference/model_types.h"
#include "report/format.h"
#include "report/log.h"
#include "report/symbols.h"
#include "report/table.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  std::int64_t samples = 16, tokens = 1000, seed = 1337;
  double temperature = 0.8;
  bool counts = false;
};

/// Stretches from here on are copied and no turn of phrase: held-out text of the same hand has hardly any.
constexpr std::int64_t copied_stretch = 32;
constexpr std::array<std::int64_t, 7> lengths = {4, 8, 12, 16, 24, 32, 64};

/// Samples, or held-out text, against the train split.
struct Audit {
  CopiedText samples, held_out;
  std::vector<std::vector<std::int64_t>> texts;  ///< the samples
  double train_loss = 0, val_loss = 0;
  std::int64_t shared = 0;  ///< tokens of the validation split that also appear in the train split
  double copied() const { return samples.copied_share(copied_stretch); }
  double held_out_copied() const { return held_out.copied_share(copied_stretch); }
};

std::vector<std::vector<std::int64_t>> samples_of(const Arguments& arguments, LoadedRun& run,
                                                  const Heartbeat& heartbeat) {
  SampleConfig sample = run.config().sample;
  sample.num_samples = arguments.samples;
  sample.tokens = arguments.tokens;
  sample.temperature = arguments.temperature;
  sample.top_k = 0;
  sample.top_p = 1;
  sample.min_p = 0;
  std::vector<std::vector<std::int64_t>> texts(static_cast<std::size_t>(arguments.samples));
  const double all = static_cast<double>(arguments.samples) * static_cast<double>(arguments.tokens);
  double done = 0;
  generate(run.predictor(), {run.checkpoint.state.start_symbol}, sample, static_cast<std::uint64_t>(arguments.seed),
           [&](std::int64_t index, std::int64_t id) {
             texts[static_cast<std::size_t>(index)].push_back(id);
             heartbeat(++done / all);
             return true;
           });
  return texts;
}

/// As much held-out text as was sampled, in pieces of the same length, spread over the split.
std::vector<std::vector<std::int64_t>> held_out_like(const Arguments& arguments, TokenView val) {
  const std::int64_t length = std::min(arguments.tokens, val.size());
  const std::int64_t count = std::min(arguments.samples, val.size() / length);
  std::vector<std::vector<std::int64_t>> texts(static_cast<std::size_t>(count),
                                               std::vector<std::int64_t>(static_cast<std::size_t>(length)));
  for (std::int64_t i = 0; i < count; ++i)
    val.copy(i * (val.size() - length) / std::max<std::int64_t>(1, count - 1), length,
             texts[static_cast<std::size_t>(i)].data());
  return texts;
}

Audit audit(const Arguments& arguments, LoadedRun& run, const Corpus& corpus) {
  Audit result;
  WorkLine line(arguments.output);
  if (arguments.counts) run.mix_with_counts(corpus, line.heartbeat("counting the training text"));
  result.texts = samples_of(arguments, run, line.heartbeat("writing samples"));
  result.samples = copied_text(result.texts, corpus.train());
  const auto held_out = held_out_like(arguments, corpus.val());
  result.held_out = copied_text(held_out, corpus.train());
  result.shared = shared_text(corpus.val(), corpus.train()).tokens;
  const std::int64_t windows =
      std::max<std::int64_t>(1, std::min<std::int64_t>(1'000'000, corpus.val().size()) / run.model->block_size());
  result.train_loss = sampled_loss(run.predictor(), corpus.train(), run.model->block_size(), windows,
                                   line.heartbeat("measuring the loss on the train split"));
  result.val_loss = sampled_loss(run.predictor(), corpus.val(), run.model->block_size(), windows,
                                 line.heartbeat("measuring the loss on the validation split"));
  return result;
}

/// In one sentence, what the figures amount to.
std::string verdict(const Audit& audit) {
  if (audit.copied() >= 0.5) return "It mostly recites its training text.";
  if (audit.copied() >= 0.05 + 2 * audit.held_out_copied()) return "It recites its training text in part.";
  return "It writes text of its own.";
}

std::string copied_line(const Audit& audit, const std::string& unit) {
  return "copied in stretches of " + std::to_string(copied_stretch) + " " + unit + "s or more: samples " +
         format_fixed(100 * audit.copied(), 1) + " %, held-out text " + format_fixed(100 * audit.held_out_copied(), 1) +
         " %";
}

std::string gap_sentence(const Audit& audit) {
  const double gap = audit.val_loss - audit.train_loss;
  const std::string losses = "loss " + format_fixed(audit.train_loss, 3) + " on the train split, " +
                             format_fixed(audit.val_loss, 3) + " on the validation split";
  if (gap > 0.3) return losses + ":\nit predicts its training text far better than new text";
  return losses + (gap > 0.1 ? ":\nit predicts its training text better than new text" : "");
}

/// The 1-based line of the text's token.
std::int64_t line_of_token(TokenView text, std::int64_t token, std::int64_t line_end) {
  std::int64_t line = 1;
  for (std::int64_t i = 0; i < token; ++i) line += text[i] == line_end;
  return line;
}

nlohmann::ordered_json to_json(const LoadedRun& run, const Audit& audit, const std::string& longest,
                               std::int64_t line) {
  nlohmann::ordered_json fresh = nlohmann::ordered_json::array();
  for (const std::int64_t length : lengths)
    fresh.push_back({{"length", length},
                     {"samples", audit.samples.new_share(length)},
                     {"held_out", audit.held_out.new_share(length)}});
  nlohmann::ordered_json json = {
      {"verdict", verdict(audit)},
      {"checkpoint", checkpoint_json(run)},
      {"copied_share", audit.copied()},
      {"held_out_copied_share", audit.held_out_copied()},
      {"copied_stretch", copied_stretch},
      {"longest", {{"characters", audit.samples.longest}, {"line", line}, {"place", audit.samples.source_begin}}},
      {"held_out_longest", audit.held_out.longest},
      {"not_in_train", std::move(fresh)},
      {"train_loss", audit.train_loss},
      {"val_loss", audit.val_loss},
      {"val_tokens_in_train", audit.shared}};
  add_text(json["longest"], "text", longest);
  return json;
}

void print_for_people(const Audit& audit, const std::string& unit, const std::string& longest, std::int64_t line,
                      std::int64_t val_tokens) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  const auto print = [](const std::string& text) { print_lines(text + "\n"); };
  Table table({unit + "s in a row", "not in the training text: samples", "held-out text"});
  for (const std::int64_t length : lengths)
    table.add({std::to_string(length), format_fixed(100 * audit.samples.new_share(length), 1) + " %",
               format_fixed(100 * audit.held_out.new_share(length), 1) + " %"});
  print_table(table);
  print("\nlongest stretch copied: " + format_count(audit.samples.longest) + " " + unit + "s, from line " +
        format_count(line) + " of the training text");
  std::string shown;
  for (const char c : longest) shown += c == '\n' ? std::string("\\n") : std::string(1, c);
  constexpr std::size_t most = 74, around = 6;
  const std::string_view fits =
      first_columns(shown, columns == 0 ? most : std::clamp(columns, around + 20, most + around) - around);
  print_text("  \"" + std::string(fits) + (fits.size() < shown.size() ? "..." : "") + "\"\n");
  print("(longest of the held-out text: " + format_count(audit.held_out.longest) + ")\n" + copied_line(audit, unit) +
        "\n" + gap_sentence(audit));
  if (audit.shared > 0)
    print(format_fixed(100.0 * static_cast<double>(audit.shared) / static_cast<double>(val_tokens), 1) +
          " % of the validation split also appears in the train split");
  print("\n" + verdict(audit));
}

void run_audit(const Arguments& arguments) {
  LoadedRun run = load_run(arguments);
  if (leaks(run.config().model))
    throw Error(ExitCode::usage, "this model leaks: it was trained to see what it had to predict, and cannot write");
  const Corpus corpus = text_of_run(run, run.config().data, arguments.output);
  if (corpus.val().size() < 2)
    throw Error(ExitCode::data, "the run held nothing out (data.val_fraction), so there is nothing to compare with");
  const Audit result = audit(arguments, run, corpus);
  const auto& text = result.texts[static_cast<std::size_t>(result.samples.text)];
  const std::string longest = run.checkpoint.vocabulary.decode(
      {text.begin() + result.samples.begin, text.begin() + result.samples.begin + result.samples.longest});
  const std::int64_t line =
      line_of_token(corpus.train(), result.samples.source_begin, run.checkpoint.vocabulary.id_of('\n'));
  if (arguments.output.json) return print_json(to_json(run, result, longest, line));
  print_for_people(result, unit_word(run.config().data.units), longest, line, corpus.val().size());
}

}  // namespace

void add_audit(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  add_run_argument(options, arguments->run);
  options.add("--samples", arguments->samples, "samples to write").range(1, 1000);
  options.add("--tokens", arguments->tokens, "characters of each").range(1, 1'000'000);
  options.add("--temperature", arguments->temperature, "of the samples").non_negative();
  options.add("--seed", arguments->seed, "seed of the samples").non_negative();
  add_counts_option(options, arguments->counts);
  add_weights_options(options, arguments->checkpoint, arguments->use.weights);
  add_device_arguments(options, arguments->use);
  add_output_arguments(options, arguments->output);
  on_parsed(options, arguments, run_audit);
}

}  // namespace chargpt
