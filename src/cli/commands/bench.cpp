// `chargpt bench train`: milliseconds of one training step, without logging and evaluation. `chargpt bench sample`:
// characters a second of a trained model.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/quantile.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "kernels/kernels.h"
#include "kernels/processor.h"
#include "kernels/thread_team.h"
#include "network/layers.h"
#include "network/model_types.h"
#include "predict/generate.h"
#include "report/format.h"
#include "report/report.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "train/trainer.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  DeviceArguments machine;
  ConfigArguments config;
  Context context = Context::automatic;
  std::string what, subject, engine = "auto";
  const Options* options = nullptr;       ///< shows which options were given
  std::int64_t warmup = 20, steps = 200;  ///< of bench train
  std::int64_t batch = 0, repeats = 5;    ///< of bench sample; batch 0: the run's sample.num_samples
};

constexpr const char* usual_config = "nanogpt-cpu";

/// Milliseconds of steps: drawing the batch, forward, backward, clipping, update.
std::vector<double> measure_steps(Trainer& trainer, const Arguments& arguments, double tokens) {
  std::vector<double> milliseconds;
  for (std::int64_t step = 0; step < arguments.warmup; ++step) trainer.step();
  for (std::int64_t step = 0; step < arguments.steps; ++step)
    milliseconds.push_back(1e3 * tokens / trainer.step().tokens_per_second);
  return milliseconds;
}

/// Floating-point operations of one training step on `tokens` tokens in windows of T: 6 for each weight of a matrix
/// product and token, and attention over the keys that a query may see, backward at 2.5 times forward. None for types
/// other than gpt.
std::optional<double> step_operations(const ModelConfig& config, std::int64_t vocab_size, std::int64_t tokens,
                                      std::int64_t T) {
  if (config.type != "gpt") return std::nullopt;
  const auto joined = static_cast<double>(config.n_head * head_width(config));
  const auto layers = static_cast<double>(config.n_layer);
  std::int64_t weights = config.tie_weights ? config.n_embd * vocab_size : 0;  // a head of its own is in the list
  for (const Parameter& one : parameter_list(config, vocab_size))
    if (one.role == ParameterRole::matrix || one.role == ParameterRole::kernel) weights += one.numel();
  // A query sees (T + 1) / 2 keys on average. Forward has two products over them, scores and weighted values, backward
  // five.
  const double scores = layers * joined * static_cast<double>(T + 1) / 2 * 2 * (2 + 5);
  return static_cast<double>(tokens) * (6 * static_cast<double>(weights) + scores);
}

/// Measures the peak in operations per second: float32 fused multiply-adds in registers, on all threads. Takes 0.2 s.
double measured_peak() {
  constexpr int bursts = 20;  // of about 10 ms; each thread's best counts, so that a disturbed one does not
  constexpr long rounds = 1'000'000;
  const int threads = cpu::threads_in_force();
  std::vector<double> best(static_cast<std::size_t>(threads));
  for (int burst = 0; burst < bursts; ++burst)
    cpu::on_threads(threads, [&](int thread) {
      double& mine = best[static_cast<std::size_t>(thread)];
      const double begun = steady_seconds(), operations = cpu::kernels().fma_loop(rounds);
      mine = std::max(mine, operations / (steady_seconds() - begun));
    });
  return std::accumulate(best.begin(), best.end(), 0.0);
}

/// Adds the arithmetic of a step and, on the CPU, its fraction of this machine's measured peak. Returns the same in
/// words: "; 3.84 GFLOP a step at 71 % of the measured peak of 233 GFLOP/s".
std::string add_operations(Json& json, const Trainer& trainer, double tokens) {
  const ModelConfig& model = trainer.config().config.model;
  const auto operations =
      step_operations(model, trainer.corpus().vocabulary().size(), static_cast<std::int64_t>(tokens), model.block_size);
  if (!operations) return "";
  const double gflops = *operations / json["ms_per_step"]["median"].get<double>() / 1e6;
  json["gflop_per_step"] = *operations / 1e9;
  json["gflops"] = gflops;
  if (trainer.state().device != "cpu") return "";
  const double peak = measured_peak() / 1e9;
  json["peak_gflops"] = peak;
  json["fraction_of_peak"] = gflops / peak;
  return fmt::format("; {:.2f} GFLOP a step at {} of the measured peak of {:.0f} GFLOP/s", *operations / 1e9,
                     format_percent(gflops / peak, 0), peak);
}

Report bench_train(const Arguments& arguments) {
  ResolvedConfig config = load_config(arguments.subject.empty() ? usual_config : config_or_run_meant(arguments.subject),
                                      arguments.config.overrides());
  check_model(config);
  choose_text(config);
  Corpus corpus = named_text(config.config.data, std::nullopt);
  TrainerOptions options;
  options.device = arguments.machine.device;
  options.threads = thread_count(arguments.machine.threads);
  options.engine = arguments.engine;
  Trainer trainer(std::move(config), std::move(corpus), options);
  const auto tokens = static_cast<double>(tokens_per_step(trainer.config().config));
  const std::vector<double> milliseconds = measure_steps(trainer, arguments, tokens);
  const double middle = median(milliseconds), p10 = quantile(milliseconds, 0.1), p90 = quantile(milliseconds, 0.9),
               per_second = 1000.0 * tokens / middle;
  Report report({{"ms_per_step", {{"median", middle}, {"p10", p10}, {"p90", p90}}},
                 {"tokens_per_second", per_second},
                 {"measured_steps", milliseconds.size()},
                 {"warmup_steps", arguments.warmup},
                 {"engine", trainer.engine().name()},
                 {"threads", options.threads},
                 {"device", trainer.state().device},
                 {"config", trainer.config().config.name}});
  report.say(fmt::format("{}: {:.2f} ms a step (p10 {:.2f}, p90 {:.2f}), {} characters a second; {} engine, {}, {}{}\n",
                         trainer.config().config.name, middle, p10, p90, format_count(std::llround(per_second)),
                         trainer.engine().name(), format_count(options.threads, "thread"), trainer.state().device,
                         add_operations(report.json, trainer, tokens)));
  return report;
}

/// Seconds from the call to the first character, and to the last.
struct Times {
  double first = 0, all = 0;
  std::int64_t tokens = 0;
};

Times measure_sample(const LoadedRun& run, const SampleConfig& sample) {
  Times times;
  const double begin = steady_seconds();
  generate(*run.network, {run.checkpoint.state.start_symbol}, sample, 1337, [&](std::int64_t, std::int64_t id) {
    if (++times.tokens == 1) times.first = steady_seconds() - begin;
    return id != run.checkpoint.vocabulary.document();
  });
  times.all = steady_seconds() - begin;
  return times;
}

Report bench_sample(const Arguments& arguments) {
  const std::string folder = arguments.subject.empty() ? run_left_out() : run_meant(arguments.subject);
  if (!is_run_or_checkpoint(folder))
    throw Error(ExitCode::usage, "bench sample measures a trained model; pass a run folder instead of '" +
                                     printable(arguments.subject) + "'");
  const LoadedRun run = load_run(folder, /*which=*/"", {.machine = arguments.machine, .context = arguments.context});
  SampleConfig sample = config_to_sample(run, arguments.config).config.sample;
  if (arguments.batch > 0) sample.num_samples = arguments.batch;
  sample.tokens = std::max<std::int64_t>(1, sample.tokens);

  const std::int64_t written = measure_sample(run, sample).tokens;  // the first time packs the weights
  std::vector<double> first, per_second;
  for (std::int64_t i = 0; i < arguments.repeats; ++i) {
    const Times times = measure_sample(run, sample);
    first.push_back(1e3 * times.first);
    per_second.push_back(static_cast<double>(times.tokens) / times.all);
  }
  const std::string_view context = enum_name(context_of(run.config().model, arguments.context));
  const std::int64_t threads = thread_count(arguments.machine.threads);
  Report report({{"tokens_per_second", median(per_second)},
                 {"batch", sample.num_samples},
                 {"tokens", sample.tokens},
                 {"written", written},
                 {"first_token_ms", median(first)},
                 {"context", context},
                 {"threads", threads},
                 {"run", folder}});
  report.say(fmt::format("{}: {} of {}, {} characters a second; the first after {:.2f} ms; context {}, {}\n", folder,
                         format_count(sample.num_samples, "sample"), format_count(sample.tokens, "character"),
                         format_count(std::llround(median(per_second))), median(first), context,
                         format_count(threads, "thread")));
  return report;
}

/// Groups of options that only one of the two measurements takes.
constexpr const char *of_train = "bench train", *of_sample = "bench sample";

void refuse_options_of_other(const Options& options, const std::string& what) {
  for (const auto& option : options.all())
    if (const std::string& group = option->text().group;
        option->given() && group.starts_with("bench ") && group != "bench " + what)
      throw Error(ExitCode::usage, option->name(), " is an option of ", group, ", not of bench ", what);
}

Report run_bench(const Arguments& arguments) {
  refuse_options_of_other(*arguments.options, arguments.what);
  return arguments.what == "sample" ? bench_sample(arguments) : bench_train(arguments);
}

}  // namespace

void add_bench(Options& options) {
  Arguments& arguments = arguments_for(options, run_bench);
  arguments.options = &options;
  options.add("WHAT", arguments.what, "the steps of a training, or the characters that a run writes in a second")
      .required()
      .one_of({"train", "sample"});
  const Option& subject = options.add(
      "SUBJECT", arguments.subject,
      "with train a preset or path (default: nanogpt-cpu), with sample a run (default: the newest in runs/)");
  options.add("--warmup", arguments.warmup, "steps before measuring").range(0).group(of_train);
  options.add("--steps", arguments.steps, "steps measured").positive().group(of_train);
  options.add("--engine", arguments.engine, "auto, cpu or libtorch").group(of_train);
  options.add("--batch", arguments.batch, "samples at once (default: sample.num_samples)")
      .range(1, 65536)
      .group(of_sample);
  options.add("--repeats", arguments.repeats, "measurements to take the median of").positive().group(of_sample);
  add_context_option(options, arguments.context);
  options.find("--context").group(of_sample);
  arguments.config.add(options, {"data", "model", "train", "eval", "sample"});
  arguments.config.help_shows(options, subject, usual_config);
  add_device_arguments(options, arguments.machine);
}

}  // namespace chargpt
