// Whole comparisons of tiny models on a text of a few thousand characters. Where the program would start a child, the
// run is trained here, and a child that only ends takes its place.
#include "experiment/compare.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "evaluate/split_loss.h"
#include "experiment/comparison_report.h"
#include "experiment/planned_run.h"
#include "failure.h"
#include "learner/schedule.h"
#include "report/files/metrics.h"
#include "run/checkpoints.h"
#include "run/run_lock.h"
#include "test.h"
#include "test_folder.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// A text in which each letter is followed by one of two, in `folder`/NAME.
std::string text_file(const fs::path& folder, const std::string& name, std::uint64_t seed = 1,
                      std::size_t size = 4000) {
  RandomStream random(seed, Purpose::windows);
  std::string text = "a";
  while (text.size() < size) text += static_cast<char>('a' + (text.back() - 'a' + 1 + 3 * random.below(2)) % 8);
  const fs::path path = folder / name;
  std::ofstream(path) << text;
  return path.string();
}

ResolvedConfig config_of(const std::string& name, const std::string& text, const std::string& type = "bigram") {
  ResolvedConfig resolved = parse_config("{}", name, {});
  Config& config = resolved.config;
  config.name = name;
  config.data.text = {text};
  config.model.type = type;
  config.model.n_layer = 1;
  config.model.n_head = 2;
  config.model.n_embd = 8;
  config.model.block_size = 8;
  config.train.batch_size = 4;
  config.train.max_iters = 20;
  config.train.warmup_iters = 2;
  config.train.learning_rate = 1e-2;
  config.train.seed = 50;
  config.eval.eval_interval = 10;
  config.eval.sample_tokens = 0;
  return resolved;
}

CompareOptions options_for(const fs::path& out, std::int64_t seeds = 2) {
  CompareOptions options;
  options.out = out;
  options.seeds = seeds;
  return options;
}

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

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Raises a stop flag at one step.
class StopAt : public Listener {
 public:
  using Listener::on;
  StopAt(std::atomic<bool>& stop, std::int64_t step) : stop_(stop), step_(step) {}
  void on(const StepEvent& event) override {
    if (event.step == step_) stop_ = true;
  }

 private:
  std::atomic<bool>& stop_;
  std::int64_t step_;
};

/// Time passes where steps are made or measured: so much at each beat of theirs.
class FakeClock : public Listener {
 public:
  using Listener::on;
  void on(const WorkEvent& event) override {
    if (event.what == "updating" || event.what == "measuring") *now_ += seconds_of_a_beat;
  }
  std::function<double()> look() const {
    return [now = now_] { return *now; };
  }
  double seconds_of_a_beat = 0.01;

 private:
  std::shared_ptr<double> now_ = std::make_shared<double>(1.0);
};

/// Learning rates, the planned length and notices of a run.
class Watched : public Listener {
 public:
  using Listener::on;
  Watched(std::vector<double>& rates, std::vector<std::int64_t>& lengths, std::vector<std::string>& notices)
      : rates_(rates), lengths_(lengths), notices_(notices) {}
  void on(const PlanEvent& event) override { lengths_.push_back(event.max_iters); }
  void on(const StepEvent& event) override { rates_.push_back(event.lr); }
  void on(const NoticeEvent& event) override { notices_.push_back(event.line); }

 private:
  std::vector<double>& rates_;
  std::vector<std::int64_t>& lengths_;
  std::vector<std::string>& notices_;
};

/// Raises a stop flag when training has ended.
class StopAtEnd : public Listener {
 public:
  using Listener::on;
  explicit StopAtEnd(std::atomic<bool>& stop) : stop_(stop) {}
  void on(const EndEvent&) override { stop_ = true; }

 private:
  std::atomic<bool>& stop_;
};

}  // namespace

TEST_CASE("a comparison trains every config with every seed and ranks them") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig untrained = config_of("untrained", text), trained = config_of("trained", text);
  untrained.config.train.learning_rate = 0;
  untrained.config.train.min_lr = 0;
  trained.config.train.max_iters = 60;
  Record record;
  const Comparison comparison = compare({untrained, trained}, options_for(folder.path() / "out"), record.hooks());

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
  CHECK(nlohmann::ordered_json::parse(read_file(folder.path() / "out" / "compare.json")) == to_json(comparison));
}

TEST_CASE("the weights scored are those that the run ended with, however good it once was") {
  const TestFolder folder;
  ResolvedConfig config = config_of("unstable", text_file(folder.path(), "text"));
  config.config.train.max_iters = 40;
  config.config.train.warmup_iters = 40;  // the rate rises to the end, far above what is good
  config.config.train.learning_rate = 20;
  const Comparison comparison = compared({config}, options_for(folder.path() / "out", 1));
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
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  Record first, again, more;
  const Comparison before = compare({config}, options_for(folder.path() / "out"), first.hooks());
  const Comparison after = compare({config}, options_for(folder.path() / "out"), again.hooks());
  CHECK(again.begun.empty());
  CHECK(again.reused == Names{"a-seed50", "a-seed51"});
  CHECK(to_json(after) == to_json(before));
  compare({config}, options_for(folder.path() / "out", 3), more.hooks());
  CHECK(more.ended == Names{"a-seed52"});
}

TEST_CASE("a comparison that was stopped goes on to the same figures") {
  const TestFolder folder;
  ResolvedConfig config = config_of("gpt", text_file(folder.path(), "text"), "gpt");
  config.config.model.dropout = 0.1;
  const Comparison whole = compared({config}, options_for(folder.path() / "whole"));

  std::atomic<bool> stop = false;
  CompareOptions options = options_for(folder.path() / "broken");
  options.stop = &stop;
  Record stopping;
  stopping.here.training.trainer.stop = &stop;
  stopping.here.listen = [&](const PlannedRun& run, Trainer& trainer, std::optional<std::int64_t>) {
    if (run.seed() == 51) trainer.add_listener(std::make_shared<StopAt>(stop, 13));
  };
  const Comparison broken = compare({config}, options, stopping.hooks());
  CHECK_FALSE(broken.complete);
  CHECK(broken.results.empty());
  CHECK_FALSE(fs::exists(folder.path() / "broken" / "compare.json"));

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
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  const Comparison before = compared({config}, options_for(folder.path() / "out", 1));
  std::ofstream(folder.path() / "out" / "a-seed50" / "val_losses.f32") << "short";
  Record record;
  const Comparison after = compare({config}, options_for(folder.path() / "out", 1), record.hooks());
  REQUIRE_FALSE(record.notices.empty());
  CHECK(contains(record.notices[0], "val_losses.json cannot be used"));
  CHECK(after.results[0].runs.seeds[0].losses == before.results[0].runs.seeds[0].losses);
}

TEST_CASE("a folder that holds a run of other options is refused before anything is trained") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig config = config_of("a", text);
  compared({config}, options_for(folder.path() / "out", 1));
  const std::string before = read_file(folder.path() / "out" / "a-seed50" / "val_losses.json");
  config.config.train.learning_rate = 0.5;
  Record record;
  const Error error = failure_of([&] {
    compare({config_of("new", text), config}, options_for(folder.path() / "out", 1), record.hooks());
  });
  CHECK(error.code() == ExitCode::busy);
  CHECK(contains(error, "a-seed50 holds a run of other options (train.learning_rate 0.01 -> 0.5)"));
  CHECK(record.begun.empty());
  CHECK(read_file(folder.path() / "out" / "a-seed50" / "val_losses.json") == before);
}

TEST_CASE("a run in use by another process is refused") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  fs::create_directories(folder.path() / "out" / "a-seed50");
  const RunLock lock(folder.path() / "out" / "a-seed50");
  const Error error = failure_of([&] { compared({config}, options_for(folder.path() / "out", 1)); });
  CHECK(error.code() == ExitCode::busy);
  CHECK(contains(error, "a with seed 50: "));
}

TEST_CASE("configs of different texts, units or splits do not compare") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text"), other = text_file(folder.path(), "other", 2);
  const std::string copy = text_file(folder.path(), "copy");
  const auto code_with = [&](const ResolvedConfig& second) {
    return failure_of([&] { compared({config_of("a", text), second}, options_for(folder.path() / "out", 1)); });
  };
  const Error error = code_with(config_of("b", other));
  CHECK(error.code() == ExitCode::usage);
  CHECK(contains(error, "configs a and b differ in their text (data.text"));
  ResolvedConfig split = config_of("b", text), units = config_of("b", text);
  split.config.data.val_fraction = 0.2;
  units.config.data.units = Units::bytes;
  CHECK(code_with(split).code() == ExitCode::usage);
  CHECK(code_with(units).code() == ExitCode::usage);
  CHECK_NOTHROW(compared({config_of("a", text), config_of("b", copy)},  // the same characters in another file
                         options_for(folder.path() / "out", 1)));
}

TEST_CASE("the first config's seed takes the place of every config's own") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig a = config_of("a", text), b = config_of("b", text);
  b.config.train.seed = 7;
  const Comparison comparison = compared({a, b}, options_for(folder.path() / "out", 1));
  for (const ConfigResult& result : comparison.results) CHECK(result.runs.seeds[0].seed == 50);
  // Equal but for their names: the same weights, the same windows, the same loss.
  CHECK(comparison.results[1].versus_best->mean == 0);
  CHECK_FALSE(comparison.results[1].versus_best->p);  // one seed
}

TEST_CASE("what configs differ in length is told once, before anything is trained") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig wide = config_of("wide", text);
  wide.config.train.batch_size = 8;
  Record record;
  CompareHooks hooks = record.hooks();
  Names lines;
  hooks.notice = [&](const std::string& line) { lines.push_back(std::to_string(record.begun.size()) + ": " + line); };
  compare({config_of("first", text), wide}, options_for(folder.path() / "out", 2), hooks);
  CHECK(lines == Names{"0: configs differ in length: first 640 tokens in 20 steps, wide 1.28k tokens in 20 steps; "
                       "--max_iters makes steps equal, --max_seconds time"});
}

TEST_CASE("within the train split, the validation split is neither trained on nor scored") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out", 1);
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
  record.here.training.trainer.clock = clock->look();
  record.here.listen = [clock, also = record.here.listen](const PlannedRun& run, Trainer& trainer,
                                                          std::optional<std::int64_t> resume_step) {
    trainer.add_listener(clock);
    if (also) also(run, trainer, resume_step);
  };
}

TEST_CASE("a length in seconds is kept by a comparison that is started again") {
  const TestFolder folder;
  const ResolvedConfig config = timed(config_of("a", text_file(folder.path(), "text")), 2);
  Record first, again;
  go_by(std::make_shared<FakeClock>(), first);
  compare({config}, options_for(folder.path() / "out", 1), first.hooks());
  compare({config}, options_for(folder.path() / "out", 1), again.hooks());
  CHECK(again.reused == Names{"a-seed50"});
}

TEST_CASE("a comparison by seconds that was broken off goes on with its seconds, and its config says at which rates") {
  const TestFolder folder;
  const ResolvedConfig config = timed(config_of("a", text_file(folder.path(), "text")), 4);
  CompareOptions options = options_for(folder.path() / "out", 1);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  const auto clock = std::make_shared<FakeClock>();
  Record record;
  record.here.training.trainer.stop = &stop;
  std::vector<double> rates;
  std::vector<std::int64_t> lengths;
  std::vector<std::string> notices;
  record.here.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    trainer.add_listener(std::make_shared<StopAt>(stop, 12));
    trainer.add_listener(std::make_shared<Watched>(rates, lengths, notices));
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
  for (const std::string& line : notices) CHECK_FALSE(contains(line, "changed"));
}

TEST_CASE("seeds of one config share the length that the first has settled, other configs have their own") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig slow = config_of("slow", text);
  slow.config.train.gradient_accumulation_steps = 8;
  const auto clock = std::make_shared<FakeClock>();
  Record record;
  go_by(clock, record);
  CompareHooks hooks = record.hooks();
  hooks.after_run = [&](const PlannedRun&, const SeedRun&, bool) { clock->seconds_of_a_beat *= 0.8; };
  const Comparison comparison =
      compare({timed(config_of("a", text), 4), timed(slow, 4)}, options_for(folder.path() / "out", 3), hooks);
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
  CHECK(contains(remarks(comparison).back(), "a " + std::to_string(steps["a"])));
  CHECK(to_json(comparison)["results"][0]["seeds"][0]["ended"] == "finished");
}

TEST_CASE("a stop while the last weights are scored is noticed, and the repeated comparison scores them") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out", 1);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  Record record;
  record.here.training.trainer.stop = &stop;
  record.here.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    trainer.add_listener(std::make_shared<StopAtEnd>(stop));
  };
  CHECK_FALSE(compare({config}, options, record.hooks()).complete);
  stop = false;
  const Comparison comparison = compared({config}, options);
  REQUIRE(comparison.complete);
  CHECK(comparison.results[0].runs.seeds[0].steps == 20);
}

TEST_CASE("runs that end at a target are listed by their steps to it, and go on where they shall not end there") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig fast = config_of("fast", text), slow = config_of("slow", text);
  for (ResolvedConfig* config : {&fast, &slow}) config->config.train.max_iters = 60;
  slow.config.train.learning_rate = 1e-6;
  slow.config.train.min_lr = 0;
  fast.config.train.learning_rate = 1e-1;
  fast.config.train.ema = 0.9;  // the average reaches it later than the trained weights do
  CompareOptions options = options_for(folder.path() / "out", 1);
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
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  Record record;
  const Comparison comparison = compare({config_of("ladder/a", text), config_of("ladder/a", text)},
                                        options_for(folder.path() / "out", 1), record.hooks());
  CHECK(record.ended == Names{"ladder-a-seed50", "ladder-a-2-seed50"});
  CHECK(comparison.results[0].runs.config == "ladder/a");
  CHECK(comparison.results[1].runs.config == "ladder/a-2");
}

TEST_CASE("a run that diverges is listed and the others go on") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig diverging = config_of("diverging", text, "gpt");
  diverging.config.train.learning_rate = 1000;
  diverging.config.train.weight_decay = 1000;
  diverging.config.train.grad_clip = 0;
  diverging.config.train.warmup_iters = 0;
  diverging.config.train.max_iters = 200;
  const Comparison comparison = compared({diverging, config_of("sound", text)}, options_for(folder.path() / "out", 1));
  REQUIRE(comparison.complete);
  CHECK(comparison.results[0].runs.config == "sound");
  CHECK(contains(comparison.results[1].runs.seeds[0].failure, "training diverged"));
  CHECK_FALSE(fs::exists(comparison.results[1].runs.seeds[0].run / "val_losses.json"));
}

TEST_CASE("a model that sees its own targets is compared but not ranked") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig leaking = config_of("leaking", text, "average");
  leaking.config.model.causal = false;
  const Comparison comparison = compared({leaking, config_of("honest", text)}, options_for(folder.path() / "out", 1));
  CHECK(comparison.results[0].runs.config == "honest");
  CHECK(comparison.results[1].runs.leaks);
  CHECK(comparison.results[1].rank == 0);
}

TEST_CASE("several trainings at once exclude a length in seconds and say why") {
  const TestFolder folder;
  CompareOptions options = options_for(folder.path() / "out");
  options.jobs = 2;
  const Error error =
      failure_of([&] { compared({timed(config_of("timed", text_file(folder.path(), "text")), 1)}, options); });
  CHECK(error.code() == ExitCode::usage);
  CHECK(contains(error, "--jobs 2 excludes a length in seconds, and timed has train.max_seconds = 1.0"));
  CHECK(contains(error, "fewer steps"));
  CHECK_FALSE(fs::exists(folder.path() / "out"));
}

TEST_CASE("a planned run gets its share of the threads, and removes what a crash left") {
  const TestFolder folder;
  CompareOptions options = options_for(folder.path() / "out");
  options.jobs = 2;
  fs::create_directories(options.out / "a-seed51");
  std::ofstream(options.out / "a-seed51" / ".chargpt-1-1.tmp") << "{";
  Record record;
  record.here.training.jobs = 2;
  record.here.training.trainer.threads = 5;
  std::vector<std::int64_t> threads;
  record.here.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    threads.push_back(trainer.state().threads);
  };
  const Comparison comparison = compare({config_of("a", text_file(folder.path(), "text"))}, options, record.hooks());
  CHECK(threads == std::vector<std::int64_t>{2, 2});
  for (const SeedRun& run : comparison.results.at(0).runs.seeds) CHECK(run.jobs == 2);
  CHECK_FALSE(fs::exists(options.out / "a-seed51" / ".chargpt-1-1.tmp"));
}

}  // namespace chargpt
