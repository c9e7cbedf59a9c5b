// `chargpt sample RUN`: streams text written by a trained model.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/decoding.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "generate/generate.h"
#include "generate/stop.h"
#include "report/escape.h"
#include "report/log.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  DeviceArguments device;
  ConfigArguments config;
  std::string run, checkpoint = "best", weights = "better", prompt, prompt_file, unknown = "error", dash;
  Context context = Context::automatic;
  std::vector<std::string> stop;
  std::int64_t seed = 1337;
  Storage storage = Storage::float32;
  bool greedy = false, no_cache = false;
};

std::string read_standard_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

std::string prompt_text(const Arguments& arguments) {
  if (!arguments.dash.empty() && arguments.dash != "-")
    throw Error(ExitCode::usage, "'" + arguments.dash + "' is one argument too many; a prompt is given by --prompt");
  if (arguments.dash == "-") return read_standard_input();
  if (arguments.prompt_file.empty()) return arguments.prompt;
  const std::string text = read_file(arguments.prompt_file, 64 << 20);
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;  // as a training text, without its byte order mark
}

UnknownPolicy unknown_policy(const std::string& name) {
  if (name == "skip") return UnknownPolicy::skip;
  return name == "replace" ? UnknownPolicy::replace : UnknownPolicy::error;
}

/// Prompt ids; without a prompt a start symbol that is not printed: newline, or else the first symbol.
std::vector<std::int64_t> prompt_ids(const Arguments& arguments, const LoadedRun& run, std::string& shown) {
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  const std::string text = prompt_text(arguments);
  const std::string what = !arguments.prompt_file.empty() ? arguments.prompt_file
                           : arguments.dash == "-"        ? std::string("standard input")
                                                          : std::string("--prompt");
  std::vector<std::int64_t> ids = vocabulary.encode(text, what, unknown_policy(arguments.unknown));
  shown = vocabulary.decode(ids);
  if (ids.empty()) ids.push_back(run.checkpoint.state.start_symbol);
  const auto block_size = static_cast<std::size_t>(run.model->block_size());
  if (ids.size() > block_size)
    log_note("the prompt has " + std::to_string(ids.size()) + " characters and the model sees " +
             std::to_string(block_size) + ": its last " + std::to_string(block_size) + " count");
  return ids;
}

/// Gives one sample's text to stdout as it grows; others are kept whole until their turn.
class SampleText {
 public:
  SampleText(const std::vector<std::string>& stop, bool live, bool escape)
      : matcher_(stop), live_(live), escape_(escape) {}

  bool add(const std::string& symbol) {
    ++tokens_;
    emit(matcher_.add(assembler_.add(symbol)));
    return !matcher_.stopped();
  }
  void finish() {
    emit(matcher_.add(assembler_.finish()));
    emit(matcher_.finish());
  }
  const std::string& text() const { return text_; }
  std::int64_t tokens() const { return tokens_; }

 private:
  void emit(const std::string& text) {
    text_ += text;
    if (!live_ || text.empty()) return;
    const std::string shown = escape_ ? escape_for_terminal(text) : text;
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    const auto now = std::chrono::steady_clock::now();
    if (now - flushed_ < std::chrono::milliseconds(5)) return;  // faster than anyone reads: a few characters at once
    std::fflush(stdout);
    flushed_ = now;
  }
  Utf8Assembler assembler_;  // units bytes: a character may come in several tokens
  StopMatcher matcher_;
  bool live_, escape_;
  std::chrono::steady_clock::time_point flushed_{};
  std::string text_;
  std::int64_t tokens_ = 0;
};

void print_samples(const Arguments& arguments, const std::string& prompt, const std::vector<SampleText>& samples,
                   bool escape) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (arguments.output.json) {
      const nlohmann::ordered_json line = {{"sample", i},
                                           {"prompt", prompt},
                                           {"text", samples[i].text()},
                                           {"tokens", samples[i].tokens()},
                                           {"seed", arguments.seed}};
      print_json(line, /*indent=*/-1);
      continue;
    }
    if (i > 0) {
      const std::string text = prompt + samples[i].text();
      std::printf("---\n%s", (escape ? escape_for_terminal(text) : text).c_str());
    }
    std::printf("\n");
  }
}

void run_sample(const Arguments& arguments) {
  LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.device, /*engine=*/"", arguments.weights);
  round_matrices(*run.model, arguments.storage);
  ResolvedConfig config = run.checkpoint.config;
  apply_overrides(config, arguments.config.overrides());
  SampleConfig sample = config.config.sample;
  if (arguments.greedy) sample.temperature = 0;
  std::string prompt;
  const std::vector<std::int64_t> ids = prompt_ids(arguments, run, prompt);
  const bool escape = isatty(STDOUT_FILENO) != 0;

  std::vector<SampleText> samples;
  for (std::int64_t i = 0; i < sample.num_samples; ++i)
    samples.emplace_back(arguments.stop, i == 0 && !arguments.output.json, escape);
  if (!arguments.output.json) std::fputs((escape ? escape_for_terminal(prompt) : prompt).c_str(), stdout);
  const auto start = std::chrono::steady_clock::now();
  generate(*run.model, ids, sample, static_cast<std::uint64_t>(arguments.seed),
           [&](std::int64_t index, std::int64_t id) {
             return samples[static_cast<std::size_t>(index)].add(run.checkpoint.vocabulary.symbol(id));
           },
           {.decoding = arguments.no_cache ? Decoding::uncached : Decoding::fast,
            .context = arguments.context,
            .storage = arguments.storage});
  for (SampleText& text : samples) text.finish();
  print_samples(arguments, prompt, samples, escape);
  std::int64_t tokens = 0;
  for (const SampleText& text : samples) tokens += text.tokens();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  log_detail(std::to_string(tokens) + " characters, " +
             std::to_string(static_cast<std::int64_t>(static_cast<double>(tokens) / seconds.count())) + " a second");
}

}  // namespace

void add_sample(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("RUN", arguments->run, "run folder, or one checkpoint folder in it")->required();
  app.add_option("DASH", arguments->dash, "'-' reads the prompt from standard input");
  app.add_option("--prompt", arguments->prompt, "text to continue (default: a newline, not printed)");
  app.add_option("--prompt-file", arguments->prompt_file, "file with the text to continue")->excludes("--prompt");
  app.add_option("--checkpoint", arguments->checkpoint, "best, last or step-N");
  add_weights_option(app, arguments->weights);
  app.add_option("--stop", arguments->stop, "end a sample before this string; may be repeated")
      ->take_all()
      ->expected(1);
  app.add_option("--unknown", arguments->unknown, "prompt characters the model has never seen")
      ->check(CLI::IsMember({"error", "skip", "replace"}));
  app.add_flag("--greedy", arguments->greedy, "always the most probable character (temperature 0)");
  app.add_option("--seed", arguments->seed, "seed of the draws; sample i has its own stream (seed, i)")
      ->check(CLI::NonNegativeNumber);
  add_context_option(app, arguments->context);
  add_storage_option(app, arguments->storage);
  app.add_flag("--no-cache", arguments->no_cache, "run the whole context again for each character (same text, slower)");
  arguments->config.add(app, {"sample"});
  add_device_arguments(app, arguments->device);
  add_output_arguments(app, arguments->output, true);
  on_parsed(app, arguments, run_sample);
}

}  // namespace chargpt
