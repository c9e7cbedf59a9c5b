#include "cli/bench_sample.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/decoding.h"
#include "cli/loaded_run.h"
#include "cli/process.h"
#include "cli/training.h"
#include "compute/device.h"
#include "generate/generate.h"
#include "model/registry.h"
#include "report/log.h"
#include "text/corpus.h"

namespace chargpt {

namespace {

/// What is measured: a trained model and what it starts from, or an untrained one.
struct Subject {
  std::string name;
  LoadedRun run;  ///< owns the weights of a trained model
  std::shared_ptr<LanguageModel> model;
  SampleConfig sample;
  std::int64_t start = 0;
};

bool is_run(const std::string& what) {
  return std::filesystem::is_directory(what);
}

Subject trained(const SampleBenchArguments& arguments) {
  Subject subject{.name = arguments.what,
                  .run = load_run(arguments.what, "best", arguments.device, /*engine=*/""),
                  .model = nullptr,
                  .sample = {}};
  ResolvedConfig config = subject.run.checkpoint.config;
  apply_overrides(config, arguments.overrides);
  subject.sample = config.config.sample;
  subject.model = subject.run.model;
  subject.start = subject.run.checkpoint.state.start_symbol;
  return subject;
}

Subject untrained(const SampleBenchArguments& arguments) {
  const ResolvedConfig config = load_config(arguments.what, arguments.overrides);
  check_model(config);
  const Config& settings = config.config;
  set_threads(arguments.device.threads);
  Subject subject{.name = settings.name, .run = {}, .model = nullptr, .sample = settings.sample};
  subject.model = make_model(settings.model, load_corpus(settings.data).vocabulary().size(),
                             static_cast<std::uint64_t>(settings.train.seed));
  subject.model->to(choose_device(arguments.device.device));
  return subject;
}

DecodeOptions decode_options(const SampleBenchArguments& arguments) {
  static const std::map<std::string, Decoding> decodings{
      {"fast", Decoding::fast}, {"cached", Decoding::cached}, {"uncached", Decoding::uncached}};
  return {.decoding = decodings.at(arguments.decoding), .context = arguments.context, .storage = arguments.storage};
}

/// Seconds from the call to the first character, those spent on characters after each sample's first while they see all
/// before them, on characters that do not, and all.
struct Times {
  double first = 0, within = 0, past = 0, all = 0;
};

Times measure(Subject& subject, const DecodeOptions& options) {
  const std::int64_t block_size = subject.model->block_size();
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(subject.sample.num_samples));
  Times times;
  const double begin = steady_seconds();
  double before = begin;
  generate(
      *subject.model, {subject.start}, subject.sample, 1337,
      [&](std::int64_t index, std::int64_t) {
        const double now = steady_seconds();
        const std::int64_t token = ++tokens[static_cast<std::size_t>(index)];
        if (token > 1) (token <= block_size ? times.within : times.past) += now - before;
        if (times.first == 0) times.first = now - begin;
        before = now;
        return true;
      },
      options);
  times.all = steady_seconds() - begin;
  return times;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <class Value>
double median_of(const std::vector<Times>& all, const Value& value) {
  std::vector<double> values;
  for (const Times& times : all) values.push_back(value(times));
  return median(values);
}

nlohmann::ordered_json figures(const SampleBenchArguments& arguments, Subject& subject) {
  const DecodeOptions options = decode_options(arguments);
  const double started = process_start_seconds(), begin = steady_seconds();
  const double cold = begin - started + measure(subject, options).first;
  std::vector<Times> all;
  for (std::int64_t i = 0; i < arguments.repeats; ++i) all.push_back(measure(subject, options));

  const std::int64_t tokens = subject.sample.tokens, batch = subject.sample.num_samples,
                     within = std::min(tokens, subject.model->block_size());
  const auto count = static_cast<double>(tokens * batch);
  std::string why_not;
  const bool fast = options.decoding == Decoding::fast && decodes_fast(*subject.model, why_not);
  nlohmann::ordered_json json = {{"tokens_per_second", median_of(all, [&](const Times& t) { return count / t.all; })},
                                 {"batch", batch},
                                 {"tokens", tokens},
                                 {"first_token_ms", 1e3 * median_of(all, [](const Times& t) { return t.first; })},
                                 {"first_token_from_process_start_ms", 1e3 * cold}};
  if (within > 1)
    json["tokens_per_second_within_block"] =
        median_of(all, [&](const Times& t) { return static_cast<double>((within - 1) * batch) / t.within; });
  if (tokens > within)
    json["tokens_per_second_past_block"] =
        median_of(all, [&](const Times& t) { return static_cast<double>((tokens - within) * batch) / t.past; });
  json["block_size"] = subject.model->block_size();
  json["context"] = context_name(context_of(*subject.model, arguments.context));
  json["storage"] = storage_name(arguments.storage);
  json["decoding"] = fast ? "fast" : options.decoding == Decoding::uncached ? "uncached" : "cached";
  json["threads"] = set_threads(arguments.device.threads);
  json["repeats"] = arguments.repeats;
  json["config"] = subject.name;
  return json;
}

void print(const nlohmann::ordered_json& json) {
  std::printf("%s: %lld characters in each of %lld samples: %.0f a second", json["config"].get<std::string>().c_str(),
              json["tokens"].get<long long>(), json["batch"].get<long long>(), json["tokens_per_second"].get<double>());
  if (json.contains("tokens_per_second_within_block"))
    std::printf("; after the first %.0f within the block of %lld", json["tokens_per_second_within_block"].get<double>(),
                json["block_size"].get<long long>());
  if (json.contains("tokens_per_second_past_block"))
    std::printf(", %.0f past it", json["tokens_per_second_past_block"].get<double>());
  std::printf(
      "; the first after %.2f ms, and %.0f ms from the start of the process; %s, context %s, %s, %lld threads\n",
      json["first_token_ms"].get<double>(), json["first_token_from_process_start_ms"].get<double>(),
      json["decoding"].get<std::string>().c_str(), json["context"].get<std::string>().c_str(),
      json["storage"].get<std::string>().c_str(), json["threads"].get<long long>());
}

}  // namespace

void add_sample_bench_options(CLI::App& app, SampleBenchArguments& arguments) {
  app.add_option("--batch", arguments.batch, "sample: samples at once (default: sample.num_samples)")
      ->check(CLI::Range(1, 65536));
  app.add_option("--repeats", arguments.repeats, "sample: measurements, of which the median counts")
      ->check(CLI::PositiveNumber);
  app.add_option("--decoding", arguments.decoding, "sample: fast, or LibTorch's forward: cached, uncached")
      ->check(CLI::IsMember({"fast", "cached", "uncached"}));
  add_context_option(app, arguments.context);
  add_storage_option(app, arguments.storage);
}

void run_bench_sample(const SampleBenchArguments& arguments) {
  Subject subject = is_run(arguments.what) ? trained(arguments) : untrained(arguments);
  round_matrices(*subject.model, arguments.storage);
  if (arguments.batch > 0) subject.sample.num_samples = arguments.batch;
  if (subject.sample.tokens < 1) subject.sample.tokens = 1;
  const nlohmann::ordered_json json = figures(arguments, subject);
  arguments.output.json ? static_cast<void>(std::printf("%s\n", json.dump(2).c_str())) : print(json);
}

}  // namespace chargpt
