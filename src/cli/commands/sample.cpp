// `chargpt sample RUN…`: streams text written by a trained model, or by several as one.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/runs/joined_runs.h"
#include "cli/runs/run_text.h"
#include "predict/generate.h"
#include "predict/stop.h"
#include "report/format.h"
#include "report/log.h"
#include "text/documents.h"
#include "text/text_bytes.h"
#include "text/text_listing.h"

namespace chargpt {

namespace {

struct Arguments : JoinedArguments {
  ConfigArguments config;
  std::string prompt, prompt_file;
  std::string dash;  ///< "-" if standard input is the prompt
  std::vector<std::string> stop;
  std::int64_t seed = 1337;
  std::string interactive;  ///< how lines become prompts: answer or complete; empty: no conversation
  bool greedy = false, fresh = false;
};

/// Throws Error usage for a later word that is not a run: it may be meant as a prompt.
void refuse_words(const std::vector<std::string>& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (!is_there(runs[i]))
      throw Error(ExitCode::usage, "'", printable(runs[i]), "' is not a run; give a prompt with --prompt");
}

/// Throws Error usage for an empty string and for an escape that unescaped() does not accept.
std::vector<std::string> stop_strings(const Arguments& arguments) {
  std::vector<std::string> all;
  for (const std::string& given : arguments.stop) {
    if (given.empty())
      throw Error(ExitCode::usage, "--stop '': an empty string would end every sample at once; remove it");
    all.push_back(unescaped(given, "--stop "));
  }
  if (all.empty() && arguments.interactive == "complete") all.emplace_back("\n");
  return all;
}

constexpr std::uint64_t most_prompt_bytes = std::uint64_t{64} << 20;

/// Prompt ids, after the document start symbol if the model has one. Without a prompt a start symbol that is not
/// printed: newline, or else the most frequent symbol.
std::vector<std::int64_t> prompt_ids(const Arguments& arguments, JoinedRuns& runs, std::string& shown) {
  const Vocabulary& vocabulary = runs.first().checkpoint.vocabulary;
  std::string text = arguments.prompt, what = "--prompt", notice;
  if (!arguments.dash.empty()) {
    text = without_byte_order_mark(standard_input_bytes(most_prompt_bytes));
    what = "standard input";
  } else if (!arguments.prompt_file.empty()) {
    text = without_byte_order_mark(read_file(arguments.prompt_file, most_prompt_bytes));
    what = arguments.prompt_file;
  }
  note_escapes(arguments.prompt);
  std::vector<std::int64_t> ids = vocabulary.encode(text, what, arguments.unknown, &notice);
  tell(notice);
  shown = vocabulary.decode(ids);
  note_long_prompt(ids.size(), runs.context());
  if (ids.empty() || runs.first().has_documents()) ids.insert(ids.begin(), runs.first().checkpoint.state.start_symbol);
  return ids;
}

/// Writes a sample to stdout as it grows if `live`, else keeps it until its turn.
class StreamedText {
 public:
  StreamedText(const Vocabulary& vocabulary, const std::vector<std::string>& stop, bool live)
      : vocabulary_(&vocabulary), matcher_(stop), live_(live) {}

  bool ended() const { return ended_; }                           ///< at the end of a document
  bool stopped() const { return !ended_ && matcher_.stopped(); }  ///< by one of `stop`
  bool live() const { return live_; }
  /// Returns false if the sample has ended or stopped.
  bool add(std::int64_t id) {
    ended_ = id == vocabulary_->document();
    if (ended_) return false;
    ++tokens_;
    emit(matcher_.add(vocabulary_->symbol(id)));
    return !matcher_.stopped();
  }
  void finish() { emit(matcher_.finish()); }
  const std::string& text() const { return text_; }
  std::int64_t tokens() const { return tokens_; }

 private:
  void emit(const std::string& text) {
    text_ += text;
    if (!live_ || text.empty()) return;
    print_text(text);
    const double now = steady_seconds();
    if (now - flushed_ < 0.005) return;  // flush a few characters at a time
    flush_text();
    flushed_ = now;
  }
  const Vocabulary* vocabulary_;
  StopMatcher matcher_;  // byte-level models: a character may span several tokens
  bool live_, ended_ = false;
  double flushed_ = 0;
  std::string text_;
  std::int64_t tokens_ = 0;
};

/// Prints all samples but a live one, which is already on stdout.
void print_samples(const Arguments& arguments, const JoinedRuns& runs, const std::string& prompt,
                   const std::vector<StreamedText>& samples) {
  const std::string between = between_samples(runs.first().config().data);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (arguments.output.json) {
      nlohmann::ordered_json line = {{"index", i}};
      add_text(line, "prompt", prompt);
      add_text(line, "text", samples[i].text());
      line["tokens"] = samples[i].tokens();
      line["seed"] = arguments.seed;
      add_checkpoints(line, runs);
      print_json(line, /*indent=*/-1);
      continue;
    }
    if (!samples[i].live()) print_text((i > 0 ? between : "") + prompt + samples[i].text());
    if (i + 1 == samples.size()) print_text("\n");
  }
}

/// Whether the sample is a complete document that is not in the text.
bool is_new(const StreamedText& sample, const std::string& prompt, const Corpus& corpus, const KnownDocuments& known) {
  return sample.ended() && !known.contain(corpus.vocabulary().encode(prompt + sample.text(), "a sample"));
}

/// Logs how many documents were cut off.
void note_documents(const JoinedRuns& runs, const std::vector<StreamedText>& samples) {
  if (!runs.first().has_documents()) return;
  const std::int64_t cut =
      std::ranges::count_if(samples, [](const StreamedText& sample) { return !sample.ended() && !sample.stopped(); });
  if (cut > 0) log_note("--tokens cut off ", cut, " of ", format_count(std::ssize(samples), "document"), "; raise it");
}

SampleConfig sample_options(const Arguments& arguments, const JoinedRuns& runs) {
  SampleConfig sample = config_to_sample(runs.first(), arguments.config).config.sample;
  if (arguments.greedy) sample.temperature = 0;
  if (!arguments.interactive.empty()) sample.num_samples = 1;
  return sample;
}

/// Reads the next line of standard input, without its end; nullopt at the end.
std::optional<std::string> next_line(const Descriptor& input) {
  constexpr std::size_t most = 4 << 20;  // bytes of the longest context, which has 2^20 characters
  std::string line;
  for (std::array<char, 1> next{}; read_some(input, next, "standard input") > 0; line += next[0]) {
    if (next[0] == '\n') return line;
    if (line.size() == most) throw Error(ExitCode::data, "an input line has more than ", most, " bytes; split it");
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

/// A conversation: each line of standard input continues the text before it, as far as the context reaches. answer: the
/// model writes after the line's end, up to a stop string or the number of tokens. complete: it writes after the line's
/// last character, and the whole line is printed. Turn i draws from the stream of seed + i.
void converse(const Arguments& arguments, JoinedRuns& runs, const SampleConfig& sample,
              const std::vector<std::string>& stop) {
  const bool at_terminal = isatty(STDIN_FILENO) != 0, completes = arguments.interactive == "complete";
  const Vocabulary& vocabulary = runs.first().checkpoint.vocabulary;
  const bool documents = runs.first().has_documents();
  std::vector<std::int64_t> said = {runs.first().checkpoint.state.start_symbol};
  if (at_terminal)
    log_note("the model ", completes ? "completes" : "answers", " each line",
             documents ? " by itself" : line_of("; it sees the last ", runs.context(), " characters"), "; Ctrl-D ends");
  const Descriptor input = standard_input();
  for (std::uint64_t turn = 0;; ++turn) {
    if (at_terminal) write_output("> ");
    flush_text();
    const std::optional<std::string> line = next_line(input);
    if (!line) break;
    try {
      if (documents) said = {vocabulary.document()};  // each line begins a document of its own
      const bool ends_line = !completes && !documents && vocabulary.id_of('\n') >= 0;
      const std::string text = *line + (ends_line ? "\n" : "");
      const std::vector<std::int64_t> ids = vocabulary.encode(text, "the line", arguments.unknown);
      said.insert(said.end(), ids.begin(), ids.end());
    } catch (const Error& error) {
      log_warning(error.what());
      continue;
    }
    if (completes) print_text(*line);
    StreamedText text(vocabulary, stop, /*live=*/true);
    generate(runs.predictor(), said, sample, static_cast<std::uint64_t>(arguments.seed) + turn,
             [&](std::int64_t, std::int64_t id) {
               if (id != vocabulary.document()) said.push_back(id);
               return text.add(id);
             });
    text.finish();
    if (!text.text().ends_with('\n')) print_text("\n");
    const auto most = static_cast<std::ptrdiff_t>(runs.context());
    if (std::ssize(said) > most) said.erase(said.begin(), said.end() - most);
  }
  if (at_terminal) print_text("\n");
}

void check_new(const Arguments& arguments, const JoinedRuns& runs) {
  if (arguments.fresh && !runs.first().has_documents())
    throw Error(ExitCode::usage, "--new is for runs whose text has documents (train --documents lines, for example)");
}

/// Writes samples `first`, first + 1, …; if `live`, the first of them appears on stdout as it grows.
std::vector<StreamedText> written_samples(const Arguments& arguments, JoinedRuns& runs, const SampleConfig& sample,
                                          const std::vector<std::string>& stop, const std::vector<std::int64_t>& ids,
                                          bool live, std::int64_t first = 0) {
  std::vector<StreamedText> samples;
  for (std::int64_t i = 0; i < sample.num_samples; ++i)
    samples.emplace_back(runs.first().checkpoint.vocabulary, stop, live && i == 0);
  const auto add = [&](std::int64_t index, std::int64_t id) {
    return samples[static_cast<std::size_t>(index - first)].add(id);
  };
  generate(runs.predictor(), ids, sample, static_cast<std::uint64_t>(arguments.seed), add, first);
  for (StreamedText& text : samples) text.finish();
  return samples;
}

/// Writes as many documents that are not in the run's text as requested; samples until it has found them.
void write_new_documents(const Arguments& arguments, JoinedRuns& runs, SampleConfig sample,
                         const std::vector<std::string>& stop, const std::vector<std::int64_t>& ids,
                         const std::string& prompt) {
  constexpr std::int64_t fewest_at_once = 16, most_for_each = 100;
  const Corpus corpus = text_of_run(runs.first());
  const KnownDocuments known(corpus.all());
  const std::int64_t wanted = sample.num_samples, most = most_for_each * (wanted + fewest_at_once);
  sample.num_samples = std::max(wanted, fewest_at_once);
  std::vector<StreamedText> kept;
  std::int64_t written = 0;
  for (const Heartbeat line = work_line("writing new documents"); std::ssize(kept) < wanted && written < most;
       written += sample.num_samples) {
    const double found = static_cast<double>(std::ssize(kept)) / static_cast<double>(wanted);
    line(std::max(found, static_cast<double>(written) / static_cast<double>(most)));
    for (StreamedText& text : written_samples(arguments, runs, sample, stop, ids, /*live=*/false, written))
      if (std::ssize(kept) < wanted && is_new(text, prompt, corpus, known)) kept.push_back(std::move(text));
  }
  print_samples(arguments, runs, prompt, kept);
  log_note(format_count(std::ssize(kept), "new document"), ", of ", written, " written");
}

void run_sample(const Arguments& arguments) {
  const std::vector<std::string> stop = stop_strings(arguments);
  refuse_words(arguments.runs);
  JoinedRuns runs(arguments);
  const SampleConfig sample = sample_options(arguments, runs);
  check_new(arguments, runs);
  if (arguments.counts) {
    refuse_counts(runs);
    runs.mix_with_counts(text_of_run(runs.first()), work_line("counting the training text"));
  }
  if (runs.leaks()) log_note("this model leaks: it saw its targets during training, so its samples are meaningless");
  if (!arguments.interactive.empty()) return converse(arguments, runs, sample, stop);
  std::string prompt;
  const std::vector<std::int64_t> ids = prompt_ids(arguments, runs, prompt);

  if (arguments.fresh) return write_new_documents(arguments, runs, sample, stop, ids, prompt);
  const bool live = !arguments.output.json;
  if (live) print_text(prompt);
  const std::vector<StreamedText> samples = written_samples(arguments, runs, sample, stop, ids, live);
  print_samples(arguments, runs, prompt, samples);
  note_documents(runs, samples);
}

}  // namespace

void add_sample(Options& options) {
  Arguments& arguments = arguments_for(options, run_sample, "stdout is one JSON object per line, one per sample");
  options.before_run([&runs = arguments.runs, &options] {
    for (const char* other : {"--prompt", "--prompt-file", "--interactive"})
      if (!runs.empty() && runs.back() == standard_input_name && options.find(other).given())
        throw Error(ExitCode::usage, "- excludes ", other, "; remove one");
  });
  Option& run = add_runs_argument(options, arguments.runs, &arguments.dash,
                                  [](const std::string& word, bool) { return word == standard_input_name; });
  run.help(run.text().help + "; a lone - after it reads the prompt from standard input");
  const Option& prompt =
      options.add("--prompt", arguments.prompt, "text to continue (default: a newline, not printed)").may_be_empty();
  const Option& prompt_file =
      options.add("--prompt-file", arguments.prompt_file, "file with the text to continue").excludes(prompt);
  options.add("--seed", arguments.seed, "seed of the random draws; sample i has its own stream (seed, i)").range(0);
  options
      .add("--interactive", arguments.interactive,
           "a conversation: each line of standard input continues the text so far. answer (the default): the model "
           "writes after the line's end. complete: it writes the rest of the line, up to a newline or, if given, a "
           "--stop")
      .one_of({"complete", "answer"})
      .alone_means("answer")
      .excludes(prompt)
      .excludes(prompt_file);
  options
      .flag("--new", arguments.fresh,
            "of a run whose text has documents: write --num_samples documents that the text does not have")
      .excludes(options.find("--interactive"));
  add_counts_option(options, arguments.counts);
  arguments.config.add(options, {"sample"});
  add_weights_options(options, arguments);
  options.add(
      "--stop", arguments.stop,
      "end a sample before this string, in which \\n is a newline, \\t a tab and \\\\ a backslash; may be repeated");
  add_unknown_option(options, arguments.unknown, "prompt characters");
  options.flag("--greedy", arguments.greedy, "always the most probable character (temperature 0)")
      .excludes(options.find("--temperature"));
  add_context_option(options, arguments.use.context);
  arguments.config.help_shows(options, run, "");
  add_device_arguments(options, arguments.use);
  for (const char* other : {"--json", "--num_samples"}) options.find("--interactive").excludes(options.find(other));
}

}  // namespace chargpt
