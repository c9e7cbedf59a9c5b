// `chargpt bench train`: milliseconds of one training step, without logging and evaluation; and the entry to
// `bench kernels`, `bench sample` and `bench learn`.
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quantile.h"
#include "cli/arguments.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/run_text.h"
#include "engine/operations.h"
#include "run/run_name.h"
#include "train/trainer.h"
#include "training/bench_kernels.h"
#include "training/bench_learn.h"
#include "training/bench_sample.h"
#include "training/commands.h"
#include "training/training.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  DeviceArguments device;
  ConfigArguments config;
  LearnArguments learn;
  SampleBenchArguments sample;
  KernelBenchArguments kernels;
  std::vector<std::string> presets;
  std::string what, engine = "auto";
  const Options* options = nullptr;  ///< knows which options were given
  const std::string& preset() const {
    static const std::string standard = "nanogpt-cpu";
    return presets.empty() ? standard : presets.front();
  }
  std::int64_t warmup = 20, steps = 200;
};

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
  ResolvedConfig config = load_config(arguments.preset(), arguments.config.overrides());
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

void bench_learn(const Arguments& arguments) {
  LearnArguments learn = arguments.learn;
  learn.output = arguments.output;
  learn.device = arguments.device;
  learn.overrides = arguments.config.overrides();
  learn.presets = arguments.presets;
  learn.engine = arguments.engine;
  if (learn.presets.empty()) throw Error(ExitCode::usage, "bench learn needs at least one config");
  run_bench_learn(learn);
}

void bench_sample(const Arguments& arguments) {
  SampleBenchArguments sample = arguments.sample;
  sample.output = arguments.output;
  sample.use.device = arguments.device.device;
  sample.use.threads = arguments.device.threads;
  sample.overrides = arguments.config.overrides();
  sample.what = arguments.preset();
  run_bench_sample(sample);
}

void bench_kernels(const Arguments& arguments) {
  KernelBenchArguments kernels = arguments.kernels;
  kernels.output = arguments.output;
  kernels.threads = arguments.device.threads;
  kernels.overrides = arguments.config.overrides();
  kernels.preset = arguments.preset();
  run_bench_kernels(kernels);
}

/// The one measurement that an option belongs to, which its help names first ("learn: the loss to reach"); empty: all.
std::string whose_option(const Option& option) {
  if (option.name() == "--context" || option.name() == "--storage") return "sample";
  for (const std::string whose : {"train", "sample", "learn", "train and learn", "kernels"})
    if (option.text().help.starts_with(whose + ": ")) return whose;
  return "";
}

void refuse_options_of_others(const Options& options, const std::string& what) {
  for (const auto& option : options.all()) {
    const std::string whose = whose_option(*option);
    if (!option->text().positional() && option->given() && whose.find(what) == std::string::npos && !whose.empty())
      throw Error(ExitCode::usage, option->name() + " is an option of bench " + whose + ", not of bench " + what);
  }
}

void run_bench(const Arguments& arguments) {
  refuse_options_of_others(*arguments.options, arguments.what);
  if (arguments.what == "learn") return bench_learn(arguments);
  if (arguments.presets.size() > 1)
    throw Error(ExitCode::usage, "bench " + arguments.what + " measures one config, but " +
                                     std::to_string(arguments.presets.size()) + " were given");
  if (arguments.what == "sample") return bench_sample(arguments);
  if (arguments.what == "kernels") return bench_kernels(arguments);
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

}  // namespace

void add_bench(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  arguments->options = &options;
  options
      .add("WHAT", arguments->what,
           "train: a step's time; sample: characters a second; learn: seconds to a target loss; kernels: its matmuls' "
           "speed beside LibTorch's")
      .required()
      .one_of({"train", "sample", "learn", "kernels"});
  const Option& config = options
                             .add("CONFIG", arguments->presets,
                                  "preset or path, for sample also a run; learn takes several, the others one "
                                  "(nanogpt-cpu if none is given)")
                             .stands_for(config_or_run_meant);
  options.add("--warmup", arguments->warmup, "train: steps before measuring").non_negative();
  options.add("--steps", arguments->steps, "train: steps measured").positive();
  options.add("--engine", arguments->engine, "train and learn: auto, autograd or cpu");
  add_learn_options(options, arguments->learn);
  add_sample_bench_options(options, arguments->sample);
  add_kernel_bench_options(options, arguments->kernels);
  arguments->config.add(options, {"data", "model", "train", "eval", "sample"});
  arguments->config.help_shows(options, config, arguments->preset(), [](const std::string& what) {
    return std::filesystem::is_directory(what) ? config_of_run(what) : config_by_name(what);
  });
  add_device_arguments(options, arguments->device);
  add_output_arguments(options, arguments->output);
  on_parsed(options, arguments, run_bench);
}

}  // namespace chargpt
