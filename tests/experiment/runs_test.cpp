// The runner with children of its own: each runs a line of /bin/sh in place of a training.
#include "experiment/runs.h"

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "failure.h"
#include "report/symbols.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_lock.h"
#include "test.h"
#include "test_folder.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// Runs a, b, … in `folder`, which differ in their seed.
std::vector<PlannedRun> planned(const fs::path& folder, std::int64_t count) {
  std::vector<PlannedRun> runs;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    runs.push_back({.config = name,
                    .options = parse_config("{}", name, {}),
                    .folder = folder / name,
                    .number = i + 1,
                    .total = count});
    runs.back().options.config.train.seed = 50 + i;
  }
  return runs;
}

/// What happened, in order.
struct Log {
  Names started, ended, failed;
  /// Children that run `script`, told the run's name; one leaves figures.json where it has a result.
  RunsHooks hooks(const std::function<std::string(const PlannedRun&)>& script) {
    RunsHooks hooks;
    hooks.take_over = [](const PlannedRun& run) { return fs::exists(run.folder / "figures.json"); };
    hooks.start = [this, script](const PlannedRun& run) {
      started.push_back(run.config);
      const std::string here = "cd '" + run.folder.string() + "' && ";
      return std::make_unique<ChildProcess>(Names{"/bin/sh", "-c", here + "{ " + script(run) + "; }"});
    };
    hooks.ended = [this](const PlannedRun& run, bool reused) {
      ended.push_back(run.config + (reused ? " reused" : ""));
    };
    hooks.failed = [this](const PlannedRun& run, const RunFailure& failure) {
      failed.push_back(run.config + ": " + failure.error.what());
    };
    return hooks;
  }
};

std::string succeed(const PlannedRun&) {
  return "touch figures.json";
}

}  // namespace

TEST_CASE("runs are started in order, and those that have ended are taken as they are") {
  const TestFolder folder;
  const auto runs = planned(folder.path(), 3);
  Log first, again;
  CHECK(run_all(runs, {}, first.hooks(succeed)));
  CHECK(first.started == Names{"a", "b", "c"});
  CHECK(first.ended == Names{"a", "b", "c"});
  for (const PlannedRun& run : runs) {
    CHECK(is_run(run.folder));
    CHECK(config_of_run_folder(run.folder).config.train.seed == run.seed());
  }
  fs::remove(runs[1].folder / "figures.json");
  CHECK(run_all(runs, {}, again.hooks(succeed)));
  CHECK(again.started == Names{"b"});
  CHECK(again.ended == Names{"a reused", "b", "c reused"});
}

TEST_CASE("a run that has not begun keeps no text of a start with another") {
  const TestFolder folder;
  auto runs = planned(folder.path(), 1);
  const fs::path kept = runs[0].folder / "kept-text.txt";
  const auto fails = [](const PlannedRun&) { return "exit 81"; };
  Log log;
  runs[0].options.config.data.text = {"-"};
  run_all(runs, {}, log.hooks([](const PlannedRun&) { return "echo first > kept-text.txt; exit 81"; }));
  run_all(runs, {}, log.hooks(fails));
  CHECK(fs::exists(kept));
  runs[0].options.config.data.text = {"other.txt"};
  run_all(runs, {}, log.hooks(fails));
  CHECK_FALSE(fs::exists(kept));
  CHECK(log.failed.size() == 3);
}

TEST_CASE("as many as there are jobs train at once") {
  const TestFolder folder;
  Log log;
  // Each waits until the other is there.
  const auto meet = [&](const PlannedRun& run) {
    const std::string other = run.config == "a" ? "b" : "a";
    return "touch here; while [ ! -e ../" + other + "/here ]; do sleep 0.01; done; touch figures.json";
  };
  CHECK(run_all(planned(folder.path(), 2), {.jobs = 2}, log.hooks(meet)));
  CHECK(log.ended.size() == 2);
}

TEST_CASE("a child that is killed, diverges or runs out of memory is told by name, and the others go on") {
  const TestFolder folder;
  Log log;
  const auto script = [](const PlannedRun& run) -> std::string {
    if (run.config == "a") return "kill -KILL $$";
    if (run.config == "b") return "echo 'chargpt: note' >&2; echo 'chargpt: error: training diverged: so' >&2; exit 80";
    return run.config == "c" ? "exit 81" : "touch figures.json";
  };
  CHECK(run_all(planned(folder.path(), 4), {}, log.hooks(script)));
  CHECK(
      log.failed ==
      Names{
          "a: it was killed (signal 9), as happens when memory runs out; run fewer at once, or lower train.batch_size",
          "b: training diverged: so", "c: it ended with exit code 81 and no message"});
  CHECK(log.ended == Names{"d"});
}

TEST_CASE("what would meet every run ends all, under the name of the one that met it") {
  const TestFolder folder;
  Log log;
  const auto script = [](const PlannedRun& run) -> std::string {
    if (run.config == "a") return "trap 'echo saved > state; exit 143' TERM; touch ready; while :; do sleep 0.01; done";
    return "while [ ! -e ../a/ready ]; do sleep 0.01; done; echo 'chargpt: error: the disk is full' >&2; exit 74";
  };
  CHECK(error_of([&] { run_all(planned(folder.path(), 3), {.jobs = 2}, log.hooks(script)); }) ==
        Failure{ExitCode::io, "b with seed 51: the disk is full"});
  CHECK(log.started == Names{"a", "b"});
  CHECK(read_file(folder.path() / "a" / "state") == "saved\n");
}

TEST_CASE("stopped, the runner asks its children to stop and waits for them") {
  const TestFolder folder;
  std::atomic<bool> stop = false;
  Log log;
  const auto script = [](const PlannedRun&) {
    return std::string(
        "trap 'sleep 0.1; echo saved > state; exit 143' TERM; touch ready; while :; do sleep 0.01; done");
  };
  RunsHooks hooks = log.hooks(script);
  hooks.watched = [&](const std::vector<RunningRun>& running, std::int64_t) {
    stop = running.size() == 2 && fs::exists(folder.path() / "a/ready") && fs::exists(folder.path() / "b/ready");
  };
  CHECK_FALSE(run_all(planned(folder.path(), 3), {.jobs = 2, .stop = &stop}, hooks));
  CHECK(log.started == Names{"a", "b"});
  for (const char* run : {"a", "b"}) CHECK(read_file(folder.path() / run / "state") == "saved\n");
}

TEST_CASE("beside other processes, a run that one of them trains is left to it and taken over when it has ended") {
  const TestFolder folder;
  const auto runs = planned(folder.path(), 2);
  fs::create_directories(runs[0].folder);
  auto lock = std::make_unique<RunLock>(runs[0].folder);
  Log log;
  RunsHooks hooks = log.hooks(succeed);
  hooks.ended = [&, also = hooks.ended](const PlannedRun& run, bool reused) {
    also(run, reused);
    if (run.config != "b") return;
    mark_run(runs[0].folder);
    write_file_atomically(runs[0].folder / "config.json", to_json(runs[0].options).dump());
    write_file_atomically(runs[0].folder / "figures.json", "{}");
    lock.reset();
  };
  CHECK(run_all(runs, {.shared = true}, hooks));
  CHECK(log.started == Names{"b"});
  CHECK(log.ended == Names{"b", "a reused"});
}

TEST_CASE("what a child's metrics tell is passed on and shown") {
  const TestFolder folder;
  folder.write("rows", R"({"kind":"plan","step":0,"max_iters":200}
{"kind":"train","step":1,"seconds":1.0}
{"kind":"eval","step":50,"val_loss":2.25}
{"kind":"train","step":51,"seconds":6.0}
)");
  Log log;
  RunsHooks hooks = log.hooks([](const PlannedRun&) {
    return "cp ../rows metrics.jsonl; while [ ! -e ../seen ]; do sleep 0.01; done; touch figures.json";
  });
  Names kinds, lines;
  hooks.row = [&](const PlannedRun&, const nlohmann::ordered_json& row) { kinds.push_back(row["kind"]); };
  hooks.watched = [&](const std::vector<RunningRun>& running, std::int64_t done) {
    lines.push_back(progress_line(running, done, 0));
    if (kinds.size() == 4) std::ofstream(folder.path() / "seen") << "";
  };
  CHECK(run_all(planned(folder.path(), 1), {}, hooks));
  CHECK(kinds == Names{"plan", "train", "eval", "train"});
  CHECK(std::ranges::count(lines, "run 1 of 1: a, seed 50  step 51 of 200 (25 %)  val 2.2500  15 s left") > 0);
}

TEST_CASE("the line of all that is running fits its terminal") {
  const PlannedRun one{
      .config = "nanogpt-cpu learning_rate=3e-3", .options = parse_config("{}", "one", {}), .number = 3, .total = 12};
  const RunningRun running{.run = &one, .step = 1000, .max_iters = 2000, .val_loss = 1.7012, .seconds_left = 63};
  const RunningRun beginning{.run = &one};
  CHECK(progress_line({running}, 2, 101) ==
        "run 3 of 12: nanogpt-cpu learning_rate=3e-3, seed 1337  step 1,000/2,000  val 1.7012  1 min 03 s left");
  CHECK(progress_line({running}, 2, 60) == "run 3 of 12: learning_rate=3e-3, seed 1337  step 1,000/2,000");
  CHECK(progress_line({beginning}, 2, 80) == "run 3 of 12: nanogpt-cpu learning_rate=3e-3, seed 1337  starting");
  CHECK(progress_line({running, beginning}, 2, 60) == "2 of 12 runs done  3: 50 %  3: starting");
  CHECK(progress_line({running, beginning}, 2, 110) ==
        "2 of 12 runs done  3: learning_rate=3e-3, seed 1337 50 %  3: learning_rate=3e-3, seed 1337 starting");
  for (std::size_t columns = 1; columns < 130; ++columns) {
    CHECK(display_width(progress_line({running}, 2, columns)) <= columns);
    CHECK(display_width(progress_line({running, running, beginning}, 2, columns)) <= columns);
  }
  CHECK(progress_line({}, 2, 80).empty());
}

TEST_CASE("a folder that holds something else is refused before anything is started") {
  const TestFolder folder;
  auto runs = planned(folder.path(), 2);
  Log log;
  const auto line_of = [&] {
    const std::string line = message_of(ExitCode::busy, [&] { run_all(runs, {}, log.hooks(succeed)); });
    CHECK(log.started.empty());
    return line;
  };
  fs::create_directories(runs[1].folder);
  std::ofstream(runs[1].folder / "thesis.txt") << "mine";
  CHECK(line_of().find("holds files that no run wrote (thesis.txt)") != std::string::npos);
  fs::remove(runs[1].folder / "thesis.txt");
  mark_run(runs[1].folder);
  std::ofstream(runs[1].folder / "val_losses.json") << "{}";
  CHECK(line_of().find("holds results but no config.json") != std::string::npos);
  std::ofstream(folder.path() / "secret.json") << "{}";
  std::ofstream(runs[1].folder / "config.json") << R"({"extends": "../secret.json"})";
  CHECK(line_of().find("config.json was not written by a run") != std::string::npos);
  std::ofstream(runs[1].folder / "config.json") << R"({"train": {"seed": 7}})";
  CHECK(line_of().find("holds a run of other options (train.seed 7 -> 51)") != std::string::npos);
}

}  // namespace chargpt
