// `chargpt bench train`: milliseconds of one training step, without logging and evaluation; and the entry to
// `bench sample`.
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quantile.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/run_text.h"
#include "engine/operations.h"
#include "run/run_name.h"
#include "train/trainer.h"
#include "training/bench_sample.h"
#include "training/commands.h"
#include "training/training.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  DeviceArguments device;
  ConfigArguments config;
  SampleBenchArguments sample;
  std::string what, subject, engine = "auto";
  const Options* options = nullptr;  ///< knows which options were given
  std::int64_t warmup = 20, steps = 200;
};

std::string config_of(const Arguments& arguments) {
  return arguments.subject.empty() ? "nanogpt-cpu" : arguments.subject;
}

/// Milliseconds of each measured step: drawing the batch, forward, backward, clipping, update.
std::vector<double> measure_steps(Trainer& trainer, std::int64_t warmup, std::int64_t steps) {
  for (std::int64_t i = 0; i < warmup; ++i) trainer.step();
  std::vector<double> milliseconds;
  const auto tokens = static_cast<double>(tokens_per_step(trainer.config().config));
  for (std::int64_t i = 0; i < steps; ++i) milliseconds.push_back(1e3 * tokens / trainer.step().tokens_per_second);
  return milliseconds;
}

/// The arithmetic of a step and, on the CPU, the fraction it reaches of this machine's peak, measured here and now.
void add_operations(nlohmann::ordered_json& json, const Trainer& trainer, double tokens) {
  const ModelConfig& model = trainer.config().config.model;
  const auto operations =
      step_operations(model, trainer.corpus().vocabulary().size(), static_cast<std::int64_t>(tokens), model.block_size);
  if (!operations) return;
  const double gflops = *operations / json["ms_per_step"]["median"].get<double>() / 1e6;
  json["gflop_per_step"] = *operations / 1e9;
  json["gflops"] = gflops;
  if (trainer.state().device != "cpu") return;
  const double peak = measured_peak() / 1e9;
  json["peak_gflops"] = peak;
  json["fraction_of_peak"] = gflops / peak;
}

/// "; 3.84 GFLOP a step at 71 % of the measured peak of 233 GFLOP/s"
std::string share_of_peak(const nlohmann::ordered_json& json) {
  if (!json.contains("fraction_of_peak")) return "";
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "; %.2f GFLOP a step at %.0f %% of the measured peak of %.0f GFLOP/s",
                json["gflop_per_step"].get<double>(), 100 * json["fraction_of_peak"].get<double>(),
                json["peak_gflops"].get<double>());
  return text.data();
}

nlohmann::ordered_json bench_train(const Arguments& arguments) {
  ResolvedConfig config = load_config(config_of(arguments), arguments.config.overrides());
  check_model(config);
  choose_text(config);
  const TrainConfig train = config.config.train;
  const std::int64_t block_size = config.config.model.block_size;
  Corpus corpus = load_training_corpus(config, arguments.output);
  check_splits(corpus, block_size);
  TrainerOptions options;
  options.device = arguments.device.device;
  options.threads = arguments.device.threads;
  options.engine = arguments.engine;
  Trainer trainer(std::move(config), std::move(corpus), options);
  const std::vector<double> milliseconds = measure_steps(trainer, arguments.warmup, arguments.steps);
  const double middle = median(milliseconds);
  const auto tokens = static_cast<double>(train.batch_size * train.gradient_accumulation_steps * block_size);
  nlohmann::ordered_json json = {
      {"ms_per_step", {{"median", middle}, {"p10", quantile(milliseconds, 0.1)}, {"p90", quantile(milliseconds, 0.9)}}},
      {"tokens_per_second", 1000.0 * tokens / middle},
      {"steps", arguments.steps},
      {"warmup_steps", arguments.warmup},
      {"engine", trainer.engine().name()},
      {"threads", trainer.state().threads},
      {"device", trainer.state().device},
      {"config", trainer.config().config.name}};
  add_operations(json, trainer, tokens);
  return json;
}

void bench_sample(const Arguments& arguments) {
  SampleBenchArguments sample = arguments.sample;
  sample.output = arguments.output;
  sample.use.device = arguments.device.device;
  sample.use.threads = arguments.device.threads;
  sample.overrides = arguments.config.overrides();
  sample.run = run_meant(arguments.subject);
  if (!std::filesystem::is_directory(sample.run))
    throw Error(ExitCode::usage, "bench sample measures a trained model; give a run's folder in place of '" +
                                     printable(arguments.subject) + "'");
  run_bench_sample(sample);
}

/// The one measurement that an option belongs to, which its help names first ("train: steps measured"); empty: all.
std::string whose_option(const Option& option) {
  if (option.name() == "--context" || option.name() == "--storage") return "sample";
  for (const std::string whose : {"train", "sample"})
    if (option.text().help.starts_with(whose + ": ")) return whose;
  return "";
}

void refuse_options_of_others(const Options& options, const std::string& what) {
  for (const auto& option : options.all()) {
    const std::string whose = whose_option(*option);
    if (!option->text().positional() && option->given() && whose != what && !whose.empty())
      throw Error(ExitCode::usage, option->name() + " is an option of bench " + whose + ", not of bench " + what);
  }
}

void run_bench(const Arguments& arguments) {
  refuse_options_of_others(*arguments.options, arguments.what);
  if (arguments.what == "sample") return bench_sample(arguments);
  const nlohmann::ordered_json json = bench_train(arguments);
  if (arguments.output.json) {
    print_json(json);
    return;
  }
  const auto& milliseconds = json["ms_per_step"];
  std::printf(
      "%s: %.2f ms a step (10 %% under %.2f, 90 %% under %.2f), %.0f characters a second; %s engine, %lld threads, "
      "%s%s\n",
      json["config"].get<std::string>().c_str(), milliseconds["median"].get<double>(),
      milliseconds["p10"].get<double>(), milliseconds["p90"].get<double>(), json["tokens_per_second"].get<double>(),
      json["engine"].get<std::string>().c_str(), json["threads"].get<long long>(),
      json["device"].get<std::string>().c_str(), share_of_peak(json).c_str());
}

/// Error usage, with what to use instead, for a measurement that earlier versions made.
std::string measurement_meant(const std::string& given) {
  if (given == "learn") throw Error(ExitCode::usage, "bench learn is gone; use compare CONFIG… --target LOSS");
  if (given == "kernels")
    throw Error(ExitCode::usage, "bench kernels is gone; bench train measures the share of this machine's peak");
  return given;
}

}  // namespace

void add_bench(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  arguments->options = &options;
  options
      .add("WHAT", arguments->what,
           "train: milliseconds of a training step of a config; sample: characters a second of a run")
      .required()
      .stands_for(measurement_meant)
      .one_of({"train", "sample"});
  const Option& subject =
      options.add("SUBJECT", arguments->subject, "train: preset or path (default nanogpt-cpu); sample: run folder");
  settle_preset(options, arguments->subject);
  options.add("--warmup", arguments->warmup, "train: steps before measuring").non_negative();
  options.add("--steps", arguments->steps, "train: steps measured").positive();
  options.add("--engine", arguments->engine, "train: auto, autograd or cpu");
  add_sample_bench_options(options, arguments->sample);
  for (const char* option : {"--target", "--seeds", "--out", "--to-the-end"})
    options.gone(option, "bench learn had it; use compare CONFIG… --target LOSS");
  options.gone("--rounds", "bench kernels had it; bench train measures the share of this machine's peak");
  arguments->config.add(options, {"data", "model", "train", "eval", "sample"});
  arguments->config.help_shows(options, subject, config_of(*arguments), [](const std::string& what) {
    return std::filesystem::is_directory(what) ? config_of_run(what) : config_by_name(what);
  });
  add_device_arguments(options, arguments->device);
  add_output_arguments(options, arguments->output);
  on_parsed(options, arguments, run_bench);
}

}  // namespace chargpt
