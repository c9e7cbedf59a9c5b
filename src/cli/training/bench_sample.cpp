#include "cli/training/bench_sample.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.h"
#include "base/quantile.h"
#include "cli/decoding.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/process.h"
#include "generate/generate.h"
#include "kernels/processor.h"

namespace chargpt {

namespace {

/// Seconds from the call to the first character; those spent on the later characters of each sample while they see all
/// before them; those on characters that do not; and in all.
struct Times {
  double first = 0, within = 0, past = 0, all = 0;
};

Times measure(LoadedRun& run, const SampleConfig& sample) {
  const std::int64_t block_size = run.model->block_size();
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(sample.num_samples));
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
  generate(run.predictor(), {run.checkpoint.state.start_symbol}, sample, 1337, on_token);
  times.all = steady_seconds() - begin;
  return times;
}

template <class Value>
double median_of(const std::vector<Times>& all, const Value& value) {
  std::vector<double> values;
  for (const Times& times : all) values.push_back(value(times));
  return median(values);
}

nlohmann::ordered_json figures(const SampleBenchArguments& arguments, LoadedRun& run, const SampleConfig& sample) {
  const double started = process_start_seconds(), begin = steady_seconds();
  const double cold = begin - started + measure(run, sample).first;
  std::vector<Times> all;
  for (std::int64_t i = 0; i < arguments.repeats; ++i) all.push_back(measure(run, sample));

  const std::int64_t tokens = sample.tokens, batch = sample.num_samples, block_size = run.model->block_size(),
                     within = std::min(tokens, block_size);
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
  json["block_size"] = block_size;
  json["context"] = context_name(context_of(run.config().model, arguments.use.context));
  json["threads"] = thread_count(arguments.use.threads);
  json["repeats"] = arguments.repeats;
  json["config"] = arguments.run;
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
  std::printf("; the first after %.2f ms, and %.0f ms from the start of the process; context %s, %lld threads\n",
              json["first_token_ms"].get<double>(), json["first_token_from_process_start_ms"].get<double>(),
              json["context"].get<std::string>().c_str(), json["threads"].get<long long>());
}

}  // namespace

void add_sample_bench_options(Options& options, SampleBenchArguments& arguments) {
  options.add("--batch", arguments.batch, "sample: samples at once (default: sample.num_samples)").range(1, 65536);
  options.add("--repeats", arguments.repeats, "sample: measurements to take the median of").positive();
  options.gone("--decoding", "bench sample decodes as sample does; leave it out");
  options.gone("--storage", "weights are kept as float32; leave it out");
  add_context_option(options, arguments.use.context);
}

void run_bench_sample(const SampleBenchArguments& arguments) {
  LoadedRun run = load_run(arguments.run, /*which=*/"", arguments.use);
  ResolvedConfig config = run.checkpoint.config;
  apply_overrides(config, arguments.overrides);
  SampleConfig sample = config.config.sample;
  if (arguments.batch > 0) sample.num_samples = arguments.batch;
  if (sample.tokens < 1) sample.tokens = 1;
  const nlohmann::ordered_json json = figures(arguments, run, sample);
  arguments.output.json ? print_json(json) : print(json);
}

}  // namespace chargpt
