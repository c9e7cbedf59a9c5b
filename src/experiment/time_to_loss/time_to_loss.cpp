#include "experiment/time_to_loss/time_to_loss.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/open_folder.h"
#include "experiment/own_process.h"
#include "experiment/run_names.h"
#include "report/format.h"
#include "run/run_folder.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// How often a run's metrics are looked at: rarely enough to take nothing from it. Its times are its own, not these.
constexpr std::chrono::milliseconds interval(100);

/// Reads what is added to a file, whole lines at a time.
class Tail {
 public:
  std::string new_lines(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file.seekg(read_)) return "";
    std::string text(std::istreambuf_iterator<char>(file), {});
    text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
    read_ += static_cast<std::streamoff>(text.size());
    return text;
  }

 private:
  std::streamoff read_ = 0;
};

void check(const std::vector<ResolvedConfig>& configs, const TimeToLossOptions& options) {
  if (configs.empty()) throw Error(ExitCode::usage, "bench learn needs at least one config");
  if (options.seeds < 1 || options.seeds > 1000)
    throw Error(ExitCode::usage, "--seeds " + std::to_string(options.seeds) + " is outside 1 to 1000");
  if (!std::isfinite(options.target) || options.target <= 0)
    throw Error(ExitCode::usage, "--target must be a loss above 0 in nats per character, as 1.898 is");
  for (const ResolvedConfig& resolved : configs)
    if (resolved.config.eval.eval_iters > 0)
      throw Error(ExitCode::usage, resolved.config.name +
                                       " has eval.eval_iters = " + std::to_string(resolved.config.eval.eval_iters) +
                                       ": a few windows cannot tell when the whole split's loss is reached; give "
                                       "--eval_iters 0");
}

/// Watches one run until it has ended, asking it to at the target. False where it was stopped from outside.
bool watch(StartedTraining& training, TimedRun& run, const std::string& name, const TimeToLossOptions& options,
           OpenFolder& out) {
  Tail metrics;
  std::optional<int> code;
  while (!code) {
    if (options.stop && options.stop->load()) return false;
    code = training.process->ended();  // asked first, so that the last rows are read
    run.run = out.path() / run.run.filename();
    append_rows(run.curve, metrics.new_lines(run.run / "metrics.jsonl"));
    if (run.curve.leaks)
      throw Error(ExitCode::usage,
                  name + " " + leaks_label + "; its loss means nothing, and so would the seconds to it");
    run.reached = first_at(run.curve, options.target);
    if (run.reached && !options.to_the_end) training.process->ask_to_stop();
    if (!code) std::this_thread::sleep_for(interval);
  }
  const bool was_asked = run.reached && *code == 128 + SIGTERM;
  if (*code == static_cast<int>(ExitCode::diverged))
    run.failure = error_of(*training.process, *code);
  else if (*code != 0 && !was_asked)
    throw failure_of_run(name + " with seed " + std::to_string(run.seed), *training.process, *code);
  else if (!fs::exists(run.run))
    throw Error(ExitCode::io,
                "the folder " + run.run.string() + " is gone: it was renamed or removed while it was watched");
  return true;
}

}  // namespace

TimesToLoss time_to_loss(const std::vector<ResolvedConfig>& configs, const TimeToLossOptions& options) {
  check(configs, options);
  fs::create_directories(options.out);
  OpenFolder out(options.out);
  TimesToLoss learned;
  for (const std::string& name : distinct_names(configs)) learned.configs.push_back({.config = name});
  const std::int64_t first_seed = configs.front().config.train.seed;
  for (std::int64_t seed = first_seed; seed < first_seed + options.seeds; ++seed)
    for (std::size_t i = 0; i < configs.size(); ++i) {
      TimedConfig& config = learned.configs[i];
      TimedRun run{.seed = seed, .run = out.path() / (folder_name(config.config) + "-seed" + std::to_string(seed))};
      StartedTraining training = options.start(i, seed, run.run);
      run.launch_seconds = training.launch_seconds;
      if (!watch(training, run, config.config, options, out)) return {.configs = {}, .complete = false};
      if (options.after_run) options.after_run(config.config, run);
      config.runs.push_back(std::move(run));
    }
  sort_by_time(learned.configs);
  return learned;
}

}  // namespace chargpt
