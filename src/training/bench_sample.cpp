#include "training/bench_sample.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.h"
#include "base/quantile.h"
#include "cli/decoding.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/process.h"
#include "cli/run_text.h"
#include "engine/device.h"
#include "generate/generate.h"
#include "kernels/processor.h"
#include "model/registry.h"
#include "report/log.h"
#include "text/corpus.h"
#include "training/module_run.h"
#include "training/training.h"

namespace chargpt {

namespace {

/// What is measured: a trained model and what it starts from, or an untrained one.
struct Subject {
  std::string name;
  std::unique_ptr<LoadedRun> run{};            ///< of a trained model
  std::unique_ptr<ModuleRun> modules{};        ///< of it, if it does not decode fast
  std::shared_ptr<LanguageModel> untrained{};  ///< as a module
  std::unique_ptr<InferenceModel> inference{};
  LanguageModel* module = nullptr;  ///< if it does not decode fast
  SampleConfig sample{};
  std::int64_t start = 0;

  const ModelConfig& config() const { return inference->config(); }
};

bool is_run(const std::string& what) {
  return std::filesystem::is_directory(what);
}

constexpr std::array decodings{std::pair{"fast", Decoding::fast}, std::pair{"cached", Decoding::cached},
                               std::pair{"uncached", Decoding::uncached}};

Decoding decoding_of(const SampleBenchArguments& arguments) {
  return std::ranges::find(decodings, arguments.decoding, &std::pair<const char*, Decoding>::first)->second;
}

bool decodes_fast(const SampleBenchArguments& arguments) {
  return decoding_of(arguments) == Decoding::fast && choose_device(arguments.use.device).is_cpu();
}

Subject trained(const SampleBenchArguments& arguments) {
  ModelUse use = arguments.use;
  use.device = "cpu";  // a module may follow, on the device that was asked for
  Subject subject{.name = arguments.what};
  subject.run = std::make_unique<LoadedRun>(load_run(arguments.what, /*which=*/"", use));
  const Checkpoint& checkpoint = subject.run->checkpoint;
  ResolvedConfig config = checkpoint.config;
  apply_overrides(config, arguments.overrides);
  subject.sample = config.config.sample;
  subject.start = checkpoint.state.start_symbol;
  if (!decodes_fast(arguments)) {
    use.weights = subject.run->model->weights();
    use.device = arguments.use.device;
    subject.modules = std::make_unique<ModuleRun>(checkpoint, use);
    subject.module = &subject.modules->model();
  }
  subject.inference = std::move(subject.run->model);
  return subject;
}

Subject untrained(const SampleBenchArguments& arguments) {
  ResolvedConfig config = load_config(arguments.what, arguments.overrides);
  check_model(config);
  choose_text(config);
  const Config& settings = config.config;
  set_threads(arguments.use.threads);
  Subject subject{.name = settings.name};
  subject.sample = settings.sample;
  subject.untrained = make_model(settings.model, load_training_corpus(config, arguments.output).vocabulary().size(),
                                 static_cast<std::uint64_t>(settings.train.seed));
  round_matrices(*subject.untrained, arguments.use.storage);
  subject.inference = std::make_unique<InferenceModel>(inference_of(*subject.untrained));
  if (decodes_fast(arguments)) return subject;
  subject.untrained->to(choose_device(arguments.use.device));
  subject.module = subject.untrained.get();
  return subject;
}

std::unique_ptr<NextLogits> logits_of(const Subject& subject, const SampleBenchArguments& arguments) {
  if (subject.module != nullptr)
    return next_logits(*subject.module, {.decoding = decoding_of(arguments), .context = arguments.context});
  return next_logits(
      *subject.inference,
      {.context = arguments.context, .storage = arguments.use.storage, .threads = thread_count(arguments.use.threads)});
}

/// Seconds from the call to the first character; those spent on the later characters of each sample while they see all
/// before them; those on characters that do not; and in all.
struct Times {
  double first = 0, within = 0, past = 0, all = 0;
};

Times measure(const Subject& subject, const SampleBenchArguments& arguments) {
  const std::int64_t block_size = subject.config().block_size;
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(subject.sample.num_samples));
  Times times;
  const double begin = steady_seconds();
  double before = begin;
  const auto on_token = [&](std::int64_t index, std::int64_t) {
    const double now = steady_seconds();
    const std::int64_t token = ++tokens[static_cast<std::size_t>(index)];
    if (token > 1) (token <= block_size ? times.within : times.past) += now - before;
    if (times.first == 0) times.first = now - begin;
    before = now;
    return true;
  };
  generate(*logits_of(subject, arguments), subject.inference->vocab_size(), block_size, {subject.start}, subject.sample,
           1337, on_token);
  times.all = steady_seconds() - begin;
  return times;
}

template <class Value>
double median_of(const std::vector<Times>& all, const Value& value) {
  std::vector<double> values;
  for (const Times& times : all) values.push_back(value(times));
  return median(values);
}

nlohmann::ordered_json figures(const SampleBenchArguments& arguments, const Subject& subject) {
  const double started = process_start_seconds(), begin = steady_seconds();
  const double cold = begin - started + measure(subject, arguments).first;
  std::vector<Times> all;
  for (std::int64_t i = 0; i < arguments.repeats; ++i) all.push_back(measure(subject, arguments));

  const std::int64_t tokens = subject.sample.tokens, batch = subject.sample.num_samples,
                     within = std::min(tokens, subject.config().block_size);
  const auto count = static_cast<double>(tokens * batch);
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
  json["block_size"] = subject.config().block_size;
  json["context"] = context_name(context_of(subject.config(), arguments.context));
  json["storage"] = storage_name(arguments.use.storage);
  json["decoding"] = subject.module == nullptr                      ? "fast"
                     : decoding_of(arguments) == Decoding::uncached ? "uncached"
                                                                    : "cached";
  json["threads"] = set_threads(arguments.use.threads);
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

void add_sample_bench_options(Options& options, SampleBenchArguments& arguments) {
  options.add("--batch", arguments.batch, "sample: samples at once (default: sample.num_samples)").range(1, 65536);
  options.add("--repeats", arguments.repeats, "sample: measurements to take the median of").positive();
  options.add("--decoding", arguments.decoding, "sample: fast, or LibTorch's forward: cached, uncached")
      .one_of({"fast", "cached", "uncached"});
  add_context_option(options, arguments.context);
  add_storage_option(options, arguments.use.storage);
}

void run_bench_sample(const SampleBenchArguments& arguments) {
  Subject subject = is_run(arguments.what) ? trained(arguments) : untrained(arguments);
  if (arguments.batch > 0) subject.sample.num_samples = arguments.batch;
  if (subject.sample.tokens < 1) subject.sample.tokens = 1;
  const nlohmann::ordered_json json = figures(arguments, subject);
  arguments.output.json ? print_json(json) : print(json);
}

}  // namespace chargpt
