// Whole comparisons of tiny models on a text of a few thousand characters. Where the program would start a child, the
// run is trained here, and a child that only ends takes its place.
#include "experiment/compare.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "evaluate/split_loss.h"
#include "experiment/comparison_report.h"
#include "experiment/planned_run.h"
#include "failure.h"
#include "hear.h"
#include "learner/schedule.h"
#include "letters.h"
#include "report/files/metrics.h"
#include "run/checkpoints.h"
#include "run/run_lock.h"
#include "test.h"
#include "test_folder.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// A folder with a text in which each letter is followed by one of two, configs that train on it, and options of
/// comparisons whose runs lie in `out`.
struct Bench {
  std::string text_file(const std::string& name, std::uint64_t seed = 1) const {
    return folder.write(name, letters(4000, seed));
  }
  ResolvedConfig config(const std::string& name, const std::string& type = "bigram") const {
    ResolvedConfig resolved = parse_config("{}", name, {});
    Config& config = resolved.config;
    config.name = name;
    config.data.text = {text};
    config.model = {.type = type, .n_layer = 1, .n_head = 2, .n_embd = 8, .block_size = 8};
    config.train = {.batch_size = 4, .max_iters = 20, .learning_rate = 1e-2, .warmup_iters = 2, .seed = 50};
    config.eval = {.eval_interval = 10, .sample_tokens = 0};
    return resolved;
  }
  CompareOptions options(std::int64_t seeds = 2) const {
    CompareOptions options;
    options.out = out;
    options.seeds = seeds;
    return options;
  }
  const TestFolder folder;
  const std::string text = text_file("text");
  const fs::path out = folder / "out";
};

/// Trains runs in this process.
struct Here {
  PlannedTraining training = [] {
    PlannedTraining training;
    training.trainer.device = "cpu";
    training.trainer.threads = 1;
    return training;
  }();
  std::function<void(const PlannedRun&, Trainer&, std::optional<std::int64_t> resume_step)> listen = {};

  std::unique_ptr<ChildProcess> start(const PlannedRun& run, const fs::path& replays) {
    training.run = run.folder;
    training.replays = replays;
    int code = 0;
    std::string said;
    try {
      const bool whole = train_planned(training, [&](Trainer& trainer, std::optional<std::int64_t> resume_step) {
        if (listen) listen(run, trainer, resume_step);
      });
      code = whole ? 0 : 143;
    } catch (const Error& error) {
      code = static_cast<int>(error.code());
      said = "chargpt: error: " + std::string(error.what());
    }
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{"/bin/sh", "-c", "echo \"$0\" >&2; exit $1", said, std::to_string(code)});
  }
};

/// What the hooks were told.
struct Record {
  std::vector<std::string> begun, ended, reused, notices;
  std::map<std::string, std::int64_t> resumed;
  Here here = {};

  CompareHooks hooks() {
    CompareHooks hooks;
    hooks.start = [this](const PlannedRun& run, const Corpus&, const fs::path& replays) {
      begun.push_back(run.folder.filename());
      return here.start(run, replays);
    };
    here.listen = [this, also = here.listen](const PlannedRun& run, Trainer& trainer,
                                             std::optional<std::int64_t> resume_step) {
      if (resume_step) resumed[run.folder.filename()] = *resume_step;
      if (also) also(run, trainer, resume_step);
    };
    hooks.after_run = [this](const PlannedRun& run, const SeedRun&, bool was_reused) {
      (was_reused ? reused : ended).push_back(run.folder.filename());
    };
    hooks.notice = [this](const std::string& line) { notices.push_back(line); };
    return hooks;
  }
};

/// With runs trained as the program would.
Comparison compared(std::vector<ResolvedConfig> configs, const CompareOptions& options) {
  return compare(std::move(configs), options, Record().hooks());
}
using Names = std::vector<std::string>;

/// Raises a stop flag at one step.
void stop_at(Trainer& trainer, std::atomic<bool>& stop, std::int64_t step) {
  hear<StepEvent>(trainer, [&stop, step](const StepEvent& event) {
    if (event.step == step) stop = true;
  });
}

/// Time passes where steps are made or measured: so much at each beat of theirs.
struct FakeClock {
  double now = 1.0, seconds_of_a_beat = 0.01;
};

}  // namespace

TEST_CASE("a comparison trains every config with every seed and ranks them") {
  const Bench bench;
  ResolvedConfig untrained = bench.config("untrained"), trained = bench.config("trained");
  untrained.config.train.learning_rate = 0;
  untrained.config.train.min_lr = 0;
  trained.config.train.max_iters = 60;
  Record record;
  const Comparison comparison = compare({untrained, trained}, bench.options(), record.hooks());

  CHECK(comparison.complete);
  CHECK(record.ended == Names{"untrained-seed50", "trained-seed50", "untrained-seed51", "trained-seed51"});
  REQUIRE(comparison.results.size() == 2);
  const ConfigResult& best = comparison.results[0];
  CHECK(best.runs.config == "trained");
  CHECK(comparison.results[1].versus_best->mean > 0);
  CHECK(comparison.tokens == 399);  // a tenth of 4,000 characters, the first of which nothing predicts
  REQUIRE(best.runs.seeds.size() == 2);
  CHECK(best.runs.seeds[0].seed == 50);
  CHECK(best.runs.seeds[1].seed == 51);
  CHECK(best.runs.seeds[0].loss != best.runs.seeds[1].loss);
  for (const SeedRun& run : best.runs.seeds) {
    CHECK(run.tokens_per_second > 0);
    CHECK(run.seconds > 0);
    CHECK(fs::file_size(run.run / "val_losses.f32") == 399 * 4);
    CHECK(fs::exists(run.run / "config.json"));
    CHECK(fs::exists(run.run / "checkpoints" / "LATEST"));
  }
  CHECK(nlohmann::ordered_json::parse(read_file(bench.out / "compare.json")) == to_json(comparison));
}

TEST_CASE("the weights scored are those that the run ended with, however good it once was") {
  const Bench bench;
  ResolvedConfig config = bench.config("unstable");
  config.config.train.max_iters = 40;
  config.config.train.warmup_iters = 40;  // the rate rises to the end, far above what is good
  config.config.train.learning_rate = 20;
  const Comparison comparison = compared({config}, bench.options(1));
  const SeedRun& run = comparison.results.at(0).runs.seeds.at(0);
  const Checkpoint best = load_checkpoint(run.run, "best");
  const Checkpoint last = load_checkpoint(run.run, "last");
  CHECK(best.state.step < 40);
  CHECK(run.step == 40);
  CHECK(run.loss == last.state.val_loss);
  CHECK(run.lowest_loss == best.state.val_loss);
  CHECK(run.lowest_step == best.state.step);
}

TEST_CASE("a comparison started again reuses every run that ended") {
  const Bench bench;
  const ResolvedConfig config = bench.config("a");
  Record first, again, more;
  const Comparison before = compare({config}, bench.options(), first.hooks());
  const Comparison after = compare({config}, bench.options(), again.hooks());
  CHECK(again.begun.empty());
  CHECK(again.reused == Names{"a-seed50", "a-seed51"});
  CHECK(to_json(after) == to_json(before));
  compare({config}, bench.options(3), more.hooks());
  CHECK(more.ended == Names{"a-seed52"});
}

TEST_CASE("a comparison that was stopped goes on to the same figures") {
  const Bench bench;
  ResolvedConfig config = bench.config("gpt", "gpt");
  config.config.model.dropout = 0.1;
  CompareOptions options = bench.options();
  const Comparison whole = compared({config}, options);

  std::atomic<bool> stop = false;
  options.out = bench.folder / "broken";
  options.stop = &stop;
  Record stopping;
  stopping.here.training.trainer.stop = &stop;
  stopping.here.listen = [&](const PlannedRun& run, Trainer& trainer, std::optional<std::int64_t>) {
    if (run.seed() == 51) stop_at(trainer, stop, 13);
  };
  const Comparison broken = compare({config}, options, stopping.hooks());
  CHECK_FALSE(broken.complete);
  CHECK(broken.results.empty());
  CHECK_FALSE(fs::exists(options.out / "compare.json"));

  stop = false;
  Record record;
  record.here.training.trainer.threads = 0;  // as many as the run had
  std::vector<std::int64_t> threads;
  record.here.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    threads.push_back(trainer.state().threads);
  };
  const Comparison gone_on = compare({config}, options, record.hooks());
  CHECK(threads == std::vector<std::int64_t>{1});
  CHECK(record.reused == Names{"gpt-seed50"});
  CHECK(record.resumed == std::map<std::string, std::int64_t>{{"gpt-seed51", 13}});
  for (const std::size_t k : {0, 1})
    CHECK(gone_on.results[0].runs.seeds[k].losses == whole.results[0].runs.seeds[k].losses);
}

TEST_CASE("damaged losses are made again from the run's checkpoint") {
  const Bench bench;
  const ResolvedConfig config = bench.config("a");
  const Comparison before = compared({config}, bench.options(1));
  bench.folder.write("out/a-seed50/val_losses.f32", "short");
  Record record;
  const Comparison after = compare({config}, bench.options(1), record.hooks());
  REQUIRE_FALSE(record.notices.empty());
  CHECK_THAT(record.notices[0], Catch::Contains("val_losses.json cannot be used"));
  CHECK(after.results[0].runs.seeds[0].losses == before.results[0].runs.seeds[0].losses);
}

TEST_CASE("a folder that holds a run of other options is refused before anything is trained") {
  const Bench bench;
  ResolvedConfig config = bench.config("a");
  compared({config}, bench.options(1));
  const std::string before = read_file(bench.out / "a-seed50" / "val_losses.json");
  config.config.train.learning_rate = 0.5;
  Record record;
  CHECK_THAT(message_of(ExitCode::busy,
                        [&] {
                          compare({bench.config("new"), config}, bench.options(1), record.hooks());
                        }),
             Catch::Contains("a-seed50 holds a run of other options (train.learning_rate 0.01 -> 0.5)"));
  CHECK(record.begun.empty());
  CHECK(read_file(bench.out / "a-seed50" / "val_losses.json") == before);
}

TEST_CASE("a run in use by another process is refused") {
  const Bench bench;
  const ResolvedConfig config = bench.config("a");
  fs::create_directories(bench.out / "a-seed50");
  const RunLock lock(bench.out / "a-seed50");
  CHECK_THAT(message_of(ExitCode::busy, [&] { compared({config}, bench.options(1)); }),
             Catch::Contains("a with seed 50: "));
}

TEST_CASE("configs of different texts, units or splits do not compare") {
  const Bench bench;
  const auto with = [&](const ResolvedConfig& second) {
    return error_of([&] { compared({bench.config("a"), second}, bench.options(1)); });
  };
  ResolvedConfig other = bench.config("b"), copy = other, split = other, units = other;
  other.config.data.text = {bench.text_file("other", 2)};
  copy.config.data.text = {bench.text_file("copy")};
  split.config.data.val_fraction = 0.2;
  units.config.data.units = Units::bytes;
  CHECK(with(other).code == ExitCode::usage);
  CHECK_THAT(with(other).line, Catch::Contains("configs a and b differ in their text (data.text"));
  CHECK(with(split).code == ExitCode::usage);
  CHECK(with(units).code == ExitCode::usage);
  CHECK(with(copy) == Failure{});  // the same characters in another file
}

TEST_CASE("the first config's seed takes the place of every config's own") {
  const Bench bench;
  ResolvedConfig a = bench.config("a"), b = bench.config("b");
  b.config.train.seed = 7;
  const Comparison comparison = compared({a, b}, bench.options(1));
  for (const ConfigResult& result : comparison.results) CHECK(result.runs.seeds[0].seed == 50);
  // Equal but for their names: the same weights, the same windows, the same loss.
  CHECK(comparison.results[1].versus_best->mean == 0);
  CHECK_FALSE(comparison.results[1].versus_best->p);  // one seed
}

TEST_CASE("what configs differ in length is told once, before anything is trained") {
  const Bench bench;
  ResolvedConfig wide = bench.config("wide");
  wide.config.train.batch_size = 8;
  Record record;
  CompareHooks hooks = record.hooks();
  Names lines;
  hooks.notice = [&](const std::string& line) { lines.push_back(std::to_string(record.begun.size()) + ": " + line); };
  compare({bench.config("first"), wide}, bench.options(2), hooks);
  CHECK(lines == Names{"0: configs differ in length: first 640 tokens in 20 steps, wide 1.28k tokens in 20 steps; "
                       "--max_iters makes steps equal, --max_seconds time"});
}

TEST_CASE("within the train split, the validation split is neither trained on nor scored") {
  const Bench bench;
  const ResolvedConfig config = bench.config("a");
  CompareOptions options = bench.options(1);
  options.within_train_split = true;
  Record within;
  within.here.training.within_train_split = true;
  const Comparison comparison = compare({config}, options, within.hooks());
  CHECK(comparison.tokens == 359);  // a tenth of the 3,600 characters to train on, the first of which nothing predicts
  Record again;
  CHECK(to_json(compare({config}, options, again.hooks())) == to_json(comparison));
  CHECK(again.reused == Names{"a-seed50"});
  options.within_train_split = false;
  CHECK(failure_of([&] { compared({config}, options); }).code() == ExitCode::busy);
}

/// A config that trains for so many seconds of a FakeClock.
ResolvedConfig timed(ResolvedConfig config, double seconds) {
  apply_overrides(config, std::vector<Override>{{"train.max_seconds", std::to_string(seconds), "--max-seconds"}});
  return config;
}

/// Runs that go by this clock.
void go_by(const std::shared_ptr<FakeClock>& clock, Record& record) {
  record.here.training.trainer.clock = [clock] { return clock->now; };
  record.here.listen = [clock, also = record.here.listen](const PlannedRun& run, Trainer& trainer,
                                                          std::optional<std::int64_t> resume_step) {
    hear<WorkEvent>(trainer, [clock](const WorkEvent& event) {
      if (event.what == "updating" || event.what == "measuring") clock->now += clock->seconds_of_a_beat;
    });
    if (also) also(run, trainer, resume_step);
  };
}

TEST_CASE("a length in seconds is kept by a comparison that is started again") {
  const Bench bench;
  const ResolvedConfig config = timed(bench.config("a"), 2);
  Record first, again;
  go_by(std::make_shared<FakeClock>(), first);
  compare({config}, bench.options(1), first.hooks());
  compare({config}, bench.options(1), again.hooks());
  CHECK(again.reused == Names{"a-seed50"});
}

TEST_CASE("a comparison by seconds that was broken off goes on with its seconds, and its config says at which rates") {
  const Bench bench;
  const ResolvedConfig config = timed(bench.config("a"), 4);
  CompareOptions options = bench.options(1);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  const auto clock = std::make_shared<FakeClock>();
  Record record;
  record.here.training.trainer.stop = &stop;
  std::vector<double> rates;
  std::vector<std::string> notices;
  record.here.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    stop_at(trainer, stop, 12);
    hear<StepEvent>(trainer, [&](const StepEvent& event) { rates.push_back(event.lr); });
    hear<NoticeEvent>(trainer, [&](const NoticeEvent& event) { notices.push_back(event.line); });
  };
  go_by(clock, record);
  const CompareHooks hooks = record.hooks();
  CHECK_FALSE(compare({config}, options, hooks).complete);
  stop = false;
  clock->seconds_of_a_beat = 0.003;  // another pace now
  REQUIRE(compare({config}, options, hooks).complete);
  const Config kept = parse_config(read_file(options.out / "a-seed50" / "config.json"), "kept", {}).config;
  CHECK(std::ssize(rates) == kept.train.decay_steps.back());
  for (std::size_t step = 0; step < rates.size(); ++step)
    CHECK(rates[step] == learning_rate_at(kept.train, static_cast<std::int64_t>(step)));
  for (const std::string& line : notices) CHECK_THAT(line, !Catch::Contains("changed"));
}

TEST_CASE("seeds of one config share the length that the first has settled, other configs have their own") {
  const Bench bench;
  ResolvedConfig slow = bench.config("slow");
  slow.config.train.gradient_accumulation_steps = 8;
  const auto clock = std::make_shared<FakeClock>();
  Record record;
  go_by(clock, record);
  CompareHooks hooks = record.hooks();
  hooks.after_run = [&](const PlannedRun&, const SeedRun&, bool) { clock->seconds_of_a_beat *= 0.8; };
  const Comparison comparison = compare({timed(bench.config("a"), 4), timed(slow, 4)}, bench.options(3), hooks);
  std::map<std::string, std::int64_t> steps;
  for (const ConfigResult& result : comparison.results) {
    steps[result.runs.config] = result.runs.seeds[0].steps;
    for (const SeedRun& run : result.runs.seeds) {
      CHECK(run.steps == result.runs.seeds[0].steps);
      CHECK(run.ended == Ending::finished);
    }
  }
  CHECK(steps["a"] > steps["slow"]);
  CHECK(steps["slow"] > 0);
  CHECK_THAT(remarks(comparison).back(), Catch::Contains("a " + std::to_string(steps["a"])));
  CHECK(to_json(comparison)["results"][0]["seeds"][0]["ended"] == "finished");
}

TEST_CASE("a stop while the last weights are scored is noticed, and the repeated comparison scores them") {
  const Bench bench;
  const ResolvedConfig config = bench.config("a");
  CompareOptions options = bench.options(1);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  Record record;
  record.here.training.trainer.stop = &stop;
  record.here.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    hear<EndEvent>(trainer, [&stop](const EndEvent&) { stop = true; });
  };
  CHECK_FALSE(compare({config}, options, record.hooks()).complete);
  stop = false;
  const Comparison comparison = compared({config}, options);
  REQUIRE(comparison.complete);
  CHECK(comparison.results[0].runs.seeds[0].steps == 20);
}

TEST_CASE("runs that end at a target are listed by their steps to it, and go on where they shall not end there") {
  const Bench bench;
  ResolvedConfig fast = bench.config("fast"), slow = bench.config("slow");
  for (ResolvedConfig* config : {&fast, &slow}) config->config.train.max_iters = 60;
  slow.config.train.learning_rate = 1e-6;
  slow.config.train.min_lr = 0;
  fast.config.train.learning_rate = 1e-1;
  fast.config.train.ema = 0.9;  // the average reaches it later than the trained weights do
  CompareOptions options = bench.options(1);
  options.target = 1.9;
  options.stop_at_target = true;
  const auto write_metrics = [](const PlannedRun& run, Trainer& trainer, std::optional<std::int64_t> resume_step) {
    trainer.add_listener(std::make_shared<MetricsWriter>(run.folder / "metrics.jsonl", resume_step));
  };
  Record record;
  record.here.training.stop_at = 1.9;
  record.here.listen = write_metrics;
  const Comparison ended = compare({slow, fast}, options, record.hooks());
  REQUIRE(ended.results.size() == 2);
  CHECK(ended.results[0].runs.config == "fast");
  const SeedRun& run = ended.results[0].runs.seeds[0];
  REQUIRE(run.reached);
  CHECK(run.steps == run.reached->step);
  CHECK(run.steps < 60);
  CHECK_FALSE(ended.results[1].runs.seeds[0].reached);
  CHECK(ended.results[1].runs.seeds[0].steps == 60);
  CHECK(ended.results[0].rank == 0);
  CHECK(to_json(ended)["verdict"] == "fast reached 1.9000 after " + std::to_string(run.steps) + " steps");

  options.stop_at_target = false;
  Record whole;
  whole.here.listen = write_metrics;
  const Comparison gone_on = compare({slow, fast}, options, whole.hooks());
  CHECK(whole.reused == Names{"slow-seed50"});
  CHECK(whole.resumed == std::map<std::string, std::int64_t>{{"fast-seed50", run.steps}});
  CHECK(gone_on.results[0].runs.seeds[0].steps == 60);
  CHECK(gone_on.results[0].rank == 1);
}

TEST_CASE("configs of one name, and of names with a slash, get folders of their own") {
  const Bench bench;
  Record record;
  const Comparison comparison =
      compare({bench.config("ladder/a"), bench.config("ladder/a")}, bench.options(1), record.hooks());
  CHECK(record.ended == Names{"ladder-a-seed50", "ladder-a-2-seed50"});
  CHECK(comparison.results[0].runs.config == "ladder/a");
  CHECK(comparison.results[1].runs.config == "ladder/a-2");
}

TEST_CASE("a run that diverges is listed and the others go on") {
  const Bench bench;
  ResolvedConfig diverging = bench.config("diverging", "gpt");
  diverging.config.train.learning_rate = 1000;
  diverging.config.train.weight_decay = 1000;
  diverging.config.train.grad_clip = 0;
  diverging.config.train.warmup_iters = 0;
  diverging.config.train.max_iters = 200;
  const Comparison comparison = compared({diverging, bench.config("sound")}, bench.options(1));
  REQUIRE(comparison.complete);
  CHECK(comparison.results[0].runs.config == "sound");
  CHECK_THAT(comparison.results[1].runs.seeds[0].failure, Catch::Contains("training diverged"));
  CHECK_FALSE(fs::exists(comparison.results[1].runs.seeds[0].run / "val_losses.json"));
}

TEST_CASE("a model that sees its own targets is compared but not ranked") {
  const Bench bench;
  ResolvedConfig leaking = bench.config("leaking", "average");
  leaking.config.model.causal = false;
  const Comparison comparison = compared({leaking, bench.config("honest")}, bench.options(1));
  CHECK(comparison.results[0].runs.config == "honest");
  CHECK(comparison.results[1].runs.leaks);
  CHECK(comparison.results[1].rank == 0);
}

TEST_CASE("several trainings at once exclude a length in seconds and say why") {
  const Bench bench;
  CompareOptions options = bench.options();
  options.jobs = 2;
  CHECK_THAT(message_of(ExitCode::usage, [&] { compared({timed(bench.config("timed"), 1)}, options); }),
             Catch::Contains("--jobs 2 excludes a length in seconds, and timed has train.max_seconds = 1.0") &&
                 Catch::Contains("fewer steps"));
  CHECK_FALSE(fs::exists(bench.out));
}

TEST_CASE("a planned run gets its share of the threads, and removes what a crash left") {
  const Bench bench;
  CompareOptions options = bench.options();
  options.jobs = 2;
  bench.folder.write("out/a-seed51/.chargpt-1-1.tmp", "{");
  Record record;
  record.here.training.jobs = 2;
  record.here.training.trainer.threads = 5;
  std::vector<std::int64_t> threads;
  record.here.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    threads.push_back(trainer.state().threads);
  };
  const Comparison comparison = compare({bench.config("a")}, options, record.hooks());
  CHECK(threads == std::vector<std::int64_t>{2, 2});
  for (const SeedRun& run : comparison.results.at(0).runs.seeds) CHECK(run.jobs == 2);
  CHECK_FALSE(fs::exists(options.out / "a-seed51" / ".chargpt-1-1.tmp"));
}

}  // namespace chargpt
