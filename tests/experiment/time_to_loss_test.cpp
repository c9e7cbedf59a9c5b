// Watching trainings: here each is a line of /bin/sh that writes metrics.
#include "experiment/time_to_loss/time_to_loss.h"

#include "base/error.h"
#include "test.h"
#include "test_folder.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

ResolvedConfig config_of(const std::string& name) {
  ResolvedConfig resolved;
  resolved.config.name = name;
  resolved.config.train.seed = 7;
  return resolved;
}

const std::string first_rows = R"({"kind":"plan","parameters":9,"leaks":false}
{"kind":"eval","step":0,"val_loss":4.0,"seconds":1.0,"training_seconds":0.0}
)";
const std::string at_target = R"({"kind":"eval","step":50,"val_loss":1.5,"seconds":3.0,"training_seconds":2.0}
)";

/// A training that writes `rows`, then does `then`.
TimeToLossOptions options_for(const fs::path& out, const std::string& rows, const std::string& then) {
  TimeToLossOptions options;
  options.target = 1.5;
  options.out = out;
  options.start = [=](std::size_t, std::int64_t, const fs::path& run) {
    fs::create_directories(run);
    const std::string script = "printf '%s' '" + rows + "' > " + (run / "metrics.jsonl").string() + "; " + then;
    return StartedTraining{std::make_unique<ChildProcess>(std::vector<std::string>{"/bin/sh", "-c", script}), 0.5};
  };
  return options;
}

std::pair<ExitCode, std::string> failure_of(const TimeToLossOptions& options, std::vector<ResolvedConfig> configs) {
  try {
    time_to_loss(configs, options);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::ok, ""};
}

}  // namespace

TEST_CASE("a run is ended at the target, unless the whole curve is wanted") {
  const TestFolder folder;
  TimeToLossOptions options = options_for(folder.path() / "stopped", first_rows + at_target, "exec sleep 60");
  options.seeds = 2;
  std::vector<std::string> told;
  options.after_run = [&](const std::string& config, const TimedRun& run) {
    told.push_back(config + std::to_string(run.seed));
  };
  const TimesToLoss learned = time_to_loss({config_of("ladder/a"), config_of("b")}, options);
  CHECK(told == std::vector<std::string>{"ladder/a7", "b7", "ladder/a8", "b8"});
  CHECK(learned.configs[0].times_reached() == 2);
  CHECK(learned.configs[0].runs[0].seconds() == 3.5);
  CHECK(fs::exists(folder.path() / "stopped" / "ladder-a-seed7" / "metrics.jsonl"));

  const std::string more = R"({"kind":"eval","step":90,"val_loss":1.25,"seconds":9.0,"training_seconds":8.0})";
  TimeToLossOptions whole = options_for(folder.path() / "whole", first_rows + at_target + more + "\n", "exit 0");
  whole.to_the_end = true;
  const TimesToLoss to_the_end = time_to_loss({config_of("a")}, whole);
  CHECK(to_the_end.configs[0].runs[0].curve.points.size() == 3);
  CHECK(to_the_end.configs[0].runs[0].reached->step == 50);
}

TEST_CASE("a run that ends above the target, and one that diverges, never reached it") {
  const TestFolder folder;
  const TimesToLoss ended = time_to_loss({config_of("a")}, options_for(folder.path() / "a", first_rows, "exit 0"));
  CHECK(ended.configs[0].times_reached() == 0);
  CHECK(ended.configs[0].runs[0].failure.empty());
  const TimesToLoss diverged = time_to_loss(
      {config_of("a")}, options_for(folder.path() / "b", first_rows, "echo 'chargpt: error: diverged' >&2; exit 80"));
  CHECK(diverged.configs[0].runs[0].failure == "diverged");
}

TEST_CASE("a run that fails is an error under its name") {
  const TestFolder folder;
  const auto [code, line] = failure_of(
      options_for(folder.path(), first_rows, "echo 'chargpt: error: no such text' >&2; exit 66"), {config_of("a")});
  CHECK(code == ExitCode::missing);
  CHECK(line == "a with seed 7: no such text");
}

TEST_CASE("what cannot be measured is refused") {
  const TestFolder folder;
  const TimeToLossOptions options = options_for(folder.path(), first_rows, "exit 0");
  CHECK(failure_of(options, {}).first == ExitCode::usage);
  TimeToLossOptions no_target = options;
  no_target.target = 0;
  CHECK(failure_of(no_target, {config_of("a")}).first == ExitCode::usage);
  ResolvedConfig estimated = config_of("a");
  estimated.config.eval.eval_iters = 5;
  CHECK(failure_of(options, {estimated}).second.find("a has eval.eval_iters = 5") == 0);
  const TimeToLossOptions leaking = options_for(folder.path(), "{\"kind\":\"plan\",\"leaks\":true}\n", "exec sleep 60");
  CHECK(failure_of(leaking, {config_of("a")}).second.find("a leaks: sees its own targets") == 0);
}

TEST_CASE("stopped, the run under way is ended and nothing is reported") {
  const TestFolder folder;
  TimeToLossOptions options = options_for(folder.path(), first_rows, "exec sleep 60");
  const std::atomic<bool> stop = true;
  options.stop = &stop;
  const TimesToLoss learned = time_to_loss({config_of("a")}, options);
  CHECK_FALSE(learned.complete);
  CHECK(learned.configs.empty());
}

}  // namespace chargpt
