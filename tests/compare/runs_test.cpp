// The runner with children of its own: each runs a line of /bin/sh in place of a training.
#include "compare/runs.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "failure.h"
#include "report/terminal.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "test_folder.h"

namespace chargpt {
namespace {

/// A folder of runs, and what happened, in order.
struct Log : TestFolder {
  Names started, ended, failed;
  /// Runs a, b, …, which differ in their seed.
  std::vector<PlannedRun> planned(std::int64_t count) const {
    std::vector<PlannedRun> runs;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      runs.push_back({.config = name,
                      .options = parse_config("{}", name, {}),
                      .folder = path() / name,
                      .number = i + 1,
                      .total = count});
      runs.back().options.config.train.seed = 50 + i;
    }
    return runs;
  }
  /// Children that run `script`, told the run's name; one leaves figures.json where it has a result.
  RunsHooks hooks_of(const std::function<std::string(const PlannedRun&)>& script) {
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
    hooks.failed = [this](const PlannedRun& run, const Error& error, double) {
      failed.push_back(run.config + ": " + error.what());
    };
    return hooks;
  }
};

std::string succeed(const PlannedRun&) {
  return "touch figures.json";
}

}  // namespace

TEST_CASE_METHOD(Log, "runs are started in order, and those that have ended are taken as they are") {
  const auto runs = planned(3);
  Log again;
  CHECK(run_all(runs, {}, hooks_of(succeed)));
  CHECK(started == Names{"a", "b", "c"});
  CHECK(ended == Names{"a", "b", "c"});
  for (const PlannedRun& run : runs) {
    CHECK(is_run(run.folder));
    CHECK(config_of_run_folder(run.folder).config.train.seed == run.seed());
  }
  fs::remove(runs[1].folder / "figures.json");
  CHECK(run_all(runs, {}, again.hooks_of(succeed)));
  CHECK(again.started == Names{"b"});
  CHECK(again.ended == Names{"a reused", "b", "c reused"});
}

TEST_CASE_METHOD(Log, "as many as there are jobs train at once") {
  // Each waits until the other is there.
  const auto meet = [&](const PlannedRun& run) {
    const std::string other = run.config == "a" ? "b" : "a";
    return "touch here; while [ ! -e ../" + other + "/here ]; do sleep 0.01; done; touch figures.json";
  };
  CHECK(run_all(planned(2), {.jobs = 2}, hooks_of(meet)));
  CHECK(ended.size() == 2);
}

TEST_CASE_METHOD(Log, "a child that is killed, diverges or runs out of memory is told by name, and the others go on") {
  const auto script = [](const PlannedRun& run) -> std::string {
    if (run.config == "a") return "kill -KILL $$";
    if (run.config == "b")
      return "echo 'chargpt: error: one that did not end it' >&2; echo 'chargpt: note' >&2; "
             "echo 'chargpt: error: training diverged: so' >&2; exit 80";
    return run.config == "c" ? "exit 81" : "touch figures.json";
  };
  CHECK(run_all(planned(4), {}, hooks_of(script)));
  CHECK(
      failed ==
      Names{
          "a: it was killed (signal 9), as happens when memory runs out; run fewer at once, or lower train.batch_size",
          "b: training diverged: so", "c: it ended with exit code 81 and no message"});
  CHECK(ended == Names{"d"});
}

TEST_CASE_METHOD(Log, "what would meet every run ends all, under the name of the one that met it") {
  const auto script = [](const PlannedRun& run) -> std::string {
    if (run.config == "a") return "trap 'echo saved > state; exit 143' TERM; touch ready; while :; do sleep 0.01; done";
    return "while [ ! -e ../a/ready ]; do sleep 0.01; done; echo 'chargpt: error: the disk is full' >&2; exit 74";
  };
  CHECK(error_of([&] { run_all(planned(3), {.jobs = 2}, hooks_of(script)); }) ==
        Failure{ExitCode::io, "b with seed 51: the disk is full"});
  CHECK(started == Names{"a", "b"});
  CHECK(read_file(path() / "a" / "state") == "saved\n");
}

TEST_CASE_METHOD(Log, "stopped, the runner asks its children to stop and waits for them") {
  std::atomic<bool> stop = false;
  const auto script = [](const PlannedRun&) {
    return std::string(
        "trap 'sleep 0.1; echo saved > state; exit 143' TERM; touch ready; while :; do sleep 0.01; done");
  };
  RunsHooks hooks = hooks_of(script);
  hooks.watched = [&](const std::vector<RunningRun>& running, std::int64_t) {
    stop = running.size() == 2 && fs::exists(path() / "a/ready") && fs::exists(path() / "b/ready");
  };
  CHECK_FALSE(run_all(planned(3), {.jobs = 2, .stop = &stop}, hooks));
  CHECK(started == Names{"a", "b"});
  for (const char* run : {"a", "b"}) CHECK(read_file(path() / run / "state") == "saved\n");
}

TEST_CASE_METHOD(Log, "what a child's metrics tell is passed on and shown") {
  write("rows", R"({"kind":"plan","step":0,"max_iters":200}
{"kind":"train","step":1,"share":0.005,"seconds":1.0}
{"kind":"eval","step":50,"val_loss":2.25}
{"kind":"train","step":51,"share":0.255,"seconds":6.0}
)");
  RunsHooks hooks = hooks_of([](const PlannedRun&) {
    return "cp ../rows metrics.jsonl; while [ ! -e ../seen ]; do sleep 0.01; done; touch figures.json";
  });
  Names kinds, lines;
  hooks.row = [&](const PlannedRun&, const nlohmann::ordered_json& row) { kinds.push_back(row["kind"]); };
  hooks.watched = [&](const std::vector<RunningRun>& running, std::int64_t done) {
    lines.push_back(progress_line(running, done, 0));
    if (kinds.size() == 4) std::ofstream(path() / "seen") << "";
  };
  CHECK(run_all(planned(1), {}, hooks));
  CHECK(kinds == Names{"plan", "train", "eval", "train"});
  CHECK(std::ranges::count(lines, "run 1 of 1: a, seed 50  step 51 of 200 (25 %)  val 2.2500  15 s left") > 0);
}

TEST_CASE_METHOD(Log, "rows of an earlier process are passed on by none, though they were read and then written anew") {
  const std::string earlier = R"({"kind":"plan","step":0,"max_iters":200}
{"kind":"train","step":1,"seconds":1.0}
)";
  write("earlier", earlier);
  write("all", earlier + R"({"kind":"plan","step":10,"max_iters":200}
{"kind":"train","step":11,"seconds":9.0}
)");
  run_all(
      planned(1), {}, hooks_of([](const PlannedRun&) {
        return "mkdir checkpoints; touch checkpoints/step-00000010.safetensors; cp ../earlier metrics.jsonl; exit 81";
      }));
  RunsHooks hooks = hooks_of([](const PlannedRun&) {
    return "while [ ! -e ../read ]; do sleep 0.01; done; cp ../all new; mv new metrics.jsonl; "
           "while [ ! -e ../seen ]; do sleep 0.01; done; touch figures.json";
  });
  std::vector<std::int64_t> steps;
  hooks.row = [&](const PlannedRun&, const nlohmann::ordered_json& row) {
    steps.push_back(row["step"].get<std::int64_t>());
    if (steps.back() == 11) write("seen");
  };
  hooks.watched = [&](const std::vector<RunningRun>&, std::int64_t) { write("read"); };
  CHECK(run_all(planned(1), {}, hooks));
  CHECK(steps == std::vector<std::int64_t>{10, 11});
}

TEST_CASE("the line of all that is running fits its terminal") {
  const PlannedRun one{
      .config = "nanogpt-cpu learning_rate=3e-3", .options = parse_config("{}", "one", {}), .number = 3, .total = 12};
  const RunningRun running{
      .run = &one, .step = 1000, .max_iters = 2000, .share = 0.5, .val_loss = 1.7012, .seconds_left = 63};
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

TEST_CASE_METHOD(Log, "a folder that holds something else is refused before anything is started") {
  auto runs = planned(2);
  const auto line_of = [&] {
    const std::string line = message_of(ExitCode::busy, [&] { run_all(runs, {}, hooks_of(succeed)); });
    CHECK(started.empty());
    return line;
  };
  fs::create_directories(runs[1].folder);
  mark_run(runs[1].folder);
  std::ofstream(runs[1].folder / "val_losses.json") << "{}";
  CHECK(line_of().find("holds results but no config.json") != std::string::npos);
  std::ofstream(path() / "secret.json") << "{}";
  std::ofstream(runs[1].folder / "config.json") << R"({"extends": "../secret.json"})";
  CHECK(line_of().find("config.json was not written by a run") != std::string::npos);
  std::ofstream(runs[1].folder / "config.json") << R"({"train": {"seed": 7}})";
  CHECK(line_of().find("holds a run of other options (train.seed 7 -> 51)") != std::string::npos);
}

}  // namespace chargpt
