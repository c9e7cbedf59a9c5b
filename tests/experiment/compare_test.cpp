// Whole comparisons of tiny models on a text of a few thousand characters.
#include "experiment/compare/compare.h"

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "evaluate/split_loss.h"
#include "experiment/compare/comparison_report.h"
#include "learner/schedule.h"
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
  options.trainer.device = "cpu";
  options.trainer.threads = 1;
  return options;
}

/// What the hooks were told.
struct Record {
  std::vector<std::string> begun, ended, reused, notices;
  std::map<std::string, std::int64_t> resumed;
  CompareHooks hooks() {
    CompareHooks hooks;
    hooks.before_run = [this](const ComparedRun& about, Trainer&) {
      begun.push_back(about.run.filename());
      if (about.resume_step) resumed[about.run.filename()] = *about.resume_step;
    };
    hooks.after_run = [this](const ComparedRun& about, const SeedRun&, bool was_reused) {
      (was_reused ? reused : ended).push_back(about.run.filename());
    };
    hooks.notice = [this](const std::string& line) { notices.push_back(line); };
    return hooks;
  }
};
using Names = std::vector<std::string>;

template <class Call>
std::pair<ExitCode, std::string> failure_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::ok, ""};
}

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
  const Comparison comparison = compare({config}, options_for(folder.path() / "out", 1));
  const SeedRun& run = comparison.results.at(0).runs.seeds.at(0);
  std::vector<std::string> notices;
  const Checkpoint best = load_checkpoint(run.run, "best", false, notices);
  const Checkpoint last = load_checkpoint(run.run, "last", false, notices);
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
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig config = config_of("gpt", text, "gpt");
  config.config.model.dropout = 0.1;
  const Comparison whole = compare({config}, options_for(folder.path() / "whole"));

  std::atomic<bool> stop = false;
  CompareOptions options = options_for(folder.path() / "broken");
  options.trainer.stop = &stop;
  CompareHooks stopping;
  stopping.before_run = [&](const ComparedRun& about, Trainer& trainer) {
    if (about.seed == 51) trainer.add_listener(std::make_shared<StopAt>(stop, 13));
  };
  const Comparison broken = compare({config}, options, stopping);
  CHECK_FALSE(broken.complete);
  CHECK(broken.results.empty());
  CHECK_FALSE(fs::exists(folder.path() / "broken" / "compare.json"));

  stop = false;
  options.trainer.threads = 0;  // as many as the run had
  Record record;
  CompareHooks hooks = record.hooks();
  std::vector<std::int64_t> threads;
  hooks.before_run = [&, also = hooks.before_run](const ComparedRun& about, Trainer& trainer) {
    threads.push_back(trainer.state().threads);
    also(about, trainer);
  };
  const Comparison gone_on = compare({config}, options, hooks);
  CHECK(threads == std::vector<std::int64_t>{1});
  CHECK(record.reused == Names{"gpt-seed50"});
  CHECK(record.resumed == std::map<std::string, std::int64_t>{{"gpt-seed51", 13}});
  for (const std::size_t k : {0, 1})
    CHECK(gone_on.results[0].runs.seeds[k].losses == whole.results[0].runs.seeds[k].losses);
}

TEST_CASE("damaged losses are made again from the run's checkpoint") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  const Comparison before = compare({config}, options_for(folder.path() / "out", 1));
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
  compare({config}, options_for(folder.path() / "out", 1));
  const std::string before = read_file(folder.path() / "out" / "a-seed50" / "val_losses.json");
  config.config.train.learning_rate = 0.5;
  Record record;
  const auto [code, line] = failure_of([&] {
    compare({config_of("new", text), config}, options_for(folder.path() / "out", 1), record.hooks());
  });
  CHECK(code == ExitCode::busy);
  CHECK(contains(line, "a-seed50 holds a run of other options (train.learning_rate 0.01 -> 0.5)"));
  CHECK(record.begun.empty());
  CHECK(read_file(folder.path() / "out" / "a-seed50" / "val_losses.json") == before);
}

TEST_CASE("a run in use by another process is refused") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  fs::create_directories(folder.path() / "out" / "a-seed50");
  const RunLock lock(folder.path() / "out" / "a-seed50");
  CHECK(failure_of([&] { compare({config}, options_for(folder.path() / "out", 1)); }).first == ExitCode::busy);
}

TEST_CASE("configs of different texts, units or splits do not compare") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text"), other = text_file(folder.path(), "other", 2);
  const std::string copy = text_file(folder.path(), "copy");
  const auto code_with = [&](const ResolvedConfig& second) {
    return failure_of([&] { compare({config_of("a", text), second}, options_for(folder.path() / "out", 1)); });
  };
  const auto [code, line] = code_with(config_of("b", other));
  CHECK(code == ExitCode::usage);
  CHECK(contains(line, "configs a and b differ in their text (data.text"));
  ResolvedConfig split = config_of("b", text), units = config_of("b", text);
  split.config.data.val_fraction = 0.2;
  units.config.data.units = Units::bytes;
  CHECK(code_with(split).first == ExitCode::usage);
  CHECK(code_with(units).first == ExitCode::usage);
  CHECK(code_with(config_of("b", copy)).first == ExitCode::ok);  // the same characters in another file
}

TEST_CASE("options that cannot be meant are refused") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  const auto code_with = [&](auto change) {
    CompareOptions options = options_for(folder.path() / "out", 1);
    change(options);
    return failure_of([&] { compare({config}, options); }).first;
  };
  CHECK(code_with([](CompareOptions& options) { options.seeds = 0; }) == ExitCode::usage);
  CHECK(code_with([](CompareOptions& options) { options.seeds = 1001; }) == ExitCode::usage);
  CHECK(code_with([](CompareOptions& options) { options.max_iters = -1; }) == ExitCode::usage);
  CHECK(code_with([](CompareOptions& options) { options.max_seconds = -1; }) == ExitCode::usage);
  CHECK(code_with([](CompareOptions& options) { options.max_iters = 1, options.max_seconds = 1; }) == ExitCode::usage);
  CHECK(code_with([](CompareOptions& options) { options.jobs = 0; }) == ExitCode::usage);
  CHECK(failure_of([&] { compare({}, options_for(folder.path() / "out")); }).first == ExitCode::usage);
  CHECK_FALSE(fs::exists(folder.path() / "out"));
}

TEST_CASE("one length and the first config's seed take the place of every config's own") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  ResolvedConfig a = config_of("a", text), b = config_of("b", text);
  b.config.train.seed = 7;
  b.config.train.max_epochs = 3;
  CompareOptions options = options_for(folder.path() / "out", 1);
  options.max_iters = 4;
  const Comparison comparison = compare({a, b}, options);
  for (const ConfigResult& result : comparison.results) {
    CHECK(result.runs.seeds[0].seed == 50);
    CHECK(result.runs.seeds[0].step == 4);
  }
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
  CHECK(lines == Names{"0: configs differ in training tokens: first 640, wide 1.28k; they make equally many steps, and "
                       "--max_seconds gives them equal time"});
}

TEST_CASE("within the train split, the validation split is neither trained on nor scored") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out", 1);
  options.within_train_split = true;
  const Comparison comparison = compare({config}, options);
  CHECK(comparison.tokens == 359);  // a tenth of the 3,600 characters to train on, the first of which nothing predicts
  Record again;
  CHECK(to_json(compare({config}, options, again.hooks())) == to_json(comparison));
  CHECK(again.reused == Names{"a-seed50"});
  options.within_train_split = false;
  CHECK(failure_of([&] { compare({config}, options); }).first == ExitCode::busy);
}

TEST_CASE("a length in seconds is kept by a comparison that is started again") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out", 1);
  options.max_seconds = 2;
  const auto clock = std::make_shared<FakeClock>();
  options.trainer.clock = clock->look();
  CompareHooks timing;
  timing.before_run = [&](const ComparedRun&, Trainer& trainer) { trainer.add_listener(clock); };
  Record record;
  compare({config}, options, timing);
  compare({config}, options, record.hooks());
  CHECK(record.reused == Names{"a-seed50"});
}

TEST_CASE("a comparison by seconds that was broken off goes on with its seconds, and its config says at which rates") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out", 1);
  options.max_seconds = 4;
  std::atomic<bool> stop = false;
  options.trainer.stop = &stop;
  const auto clock = std::make_shared<FakeClock>();
  options.trainer.clock = clock->look();
  CompareHooks hooks;
  std::vector<double> rates;
  std::vector<std::int64_t> lengths;
  std::vector<std::string> notices;
  hooks.before_run = [&](const ComparedRun&, Trainer& trainer) {
    trainer.add_listener(clock);
    trainer.add_listener(std::make_shared<StopAt>(stop, 12));
    trainer.add_listener(std::make_shared<Watched>(rates, lengths, notices));
  };
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
  CompareOptions options = options_for(folder.path() / "out", 3);
  options.max_seconds = 4;
  const auto clock = std::make_shared<FakeClock>();
  options.trainer.clock = clock->look();
  CompareHooks hooks;
  hooks.before_run = [&](const ComparedRun&, Trainer& trainer) { trainer.add_listener(clock); };
  hooks.after_run = [&](const ComparedRun&, const SeedRun&, bool) { clock->seconds_of_a_beat *= 0.8; };
  const Comparison comparison = compare({config_of("a", text), slow}, options, hooks);
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

TEST_CASE("a stop while the best weights are scored is noticed, and the repeated comparison scores them") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out", 1);
  std::atomic<bool> stop = false;
  options.trainer.stop = &stop;
  CompareHooks hooks;
  hooks.before_run = [&](const ComparedRun&, Trainer& trainer) {
    trainer.add_listener(std::make_shared<StopAtEnd>(stop));
  };
  CHECK_FALSE(compare({config}, options, hooks).complete);
  stop = false;
  const Comparison comparison = compare({config}, options);
  REQUIRE(comparison.complete);
  CHECK(comparison.results[0].runs.seeds[0].steps == 20);
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
  const Comparison comparison = compare({diverging, config_of("sound", text)}, options_for(folder.path() / "out", 1));
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
  const Comparison comparison = compare({leaking, config_of("honest", text)}, options_for(folder.path() / "out", 1));
  CHECK(comparison.results[0].runs.config == "honest");
  CHECK(comparison.results[1].runs.leaks);
  CHECK(comparison.results[1].rank == 0);
}

TEST_CASE("several trainings at once exclude a length in seconds and say why") {
  const TestFolder folder;
  ResolvedConfig config = config_of("timed", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out");
  options.jobs = 2;
  options.max_seconds = 1;
  const auto [code, line] = failure_of([&] { compare({config}, options); });
  CHECK(code == ExitCode::usage);
  CHECK(contains(line, "--jobs 2 excludes a length in seconds, and timed has train.max_seconds = 1.0"));
  CHECK(contains(line, "fewer steps"));
  CHECK_FALSE(fs::exists(folder.path() / "out"));
}

TEST_CASE("one run of a comparison alone is left for the whole to reuse") {
  const TestFolder folder;
  const std::string text = text_file(folder.path(), "text");
  CompareOptions options = options_for(folder.path() / "out");
  options.jobs = 2;
  const std::vector<ResolvedConfig> configs{config_of("a", text), config_of("b", text)};
  options.trainer.threads = 5;
  std::int64_t threads = 0;
  CompareHooks watching;
  watching.before_run = [&threads](const ComparedRun&, Trainer& trainer) { threads = trainer.state().threads; };
  CHECK(failure_of([&] { compare_one(configs, options, 3); }).first ==
        ExitCode::io);  // the comparison makes the folder
  std::filesystem::create_directory(options.out);
  std::filesystem::create_directory(options.out / "b-seed51");
  std::ofstream(options.out / "b-seed51" / ".run.json.tmp-1-1") << "what another run is writing";
  CHECK(compare_one(configs, options, 3, watching));  // the second seed of the first config
  std::filesystem::remove_all(options.out / "b-seed51");
  CHECK(threads == 2);
  options.jobs = 1;
  Record record;
  const Comparison comparison = compare(configs, options, record.hooks());
  CHECK(record.reused == Names{"a-seed51"});
  for (const ConfigResult& result : comparison.results)
    for (const SeedRun& run : result.runs.seeds) CHECK(run.jobs == (run.run.filename() == "a-seed51" ? 2 : 1));
  CHECK(failure_of([&] { compare_one(configs, options, 5); }).first == ExitCode::usage);
}

/// Children of a comparison that is not the program's: each runs a line of /bin/sh.
RunStarter shell(std::function<std::string(std::int64_t)> script) {
  return [script = std::move(script)](std::int64_t number) {
    return std::make_unique<ChildProcess>(std::vector<std::string>{"/bin/sh", "-c", script(number)});
  };
}

TEST_CASE("the error of a run that is a process of its own is passed on under its name") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out");
  options.jobs = 2;
  options.start = shell([](std::int64_t number) {
    return number == 1 ? "exec sleep 60" : "echo 'chargpt: note'; echo 'chargpt: error: the disk is full' >&2; exit 74";
  });
  const auto [code, line] = failure_of([&] { compare({config}, options); });
  CHECK(code == ExitCode::io);
  CHECK(line == "a with seed 51: the disk is full");

  options.start = shell([](std::int64_t) { return "kill -KILL $$"; });
  const auto [killed, reason] = failure_of([&] { compare({config}, options); });
  CHECK(killed == ExitCode::memory);
  CHECK(contains(reason, "a with seed 50: it was killed (signal 9), as happens when memory runs out"));
}

TEST_CASE("a run that diverges in a process of its own is listed with what it said") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  CompareOptions options = options_for(folder.path() / "out");
  options.jobs = 2;
  options.start = shell([](std::int64_t) { return "echo 'chargpt: error: training diverged: so' >&2; exit 80"; });
  const Comparison comparison = compare({config}, options);
  REQUIRE(comparison.complete);
  CHECK(comparison.results[0].runs.seeds[1].failure == "training diverged: so");
}

TEST_CASE("stopped, a comparison asks its processes to stop and waits for them") {
  const TestFolder folder;
  const ResolvedConfig config = config_of("a", text_file(folder.path(), "text"));
  std::atomic<bool> stop = false;
  CompareOptions options = options_for(folder.path() / "out");
  options.jobs = 2;
  options.trainer.stop = &stop;
  const auto file = [&](const std::string& what, std::int64_t number) {
    return folder.path() / (what + std::to_string(number));
  };
  std::int64_t started = 0;
  options.start = [&](std::int64_t number) {
    auto process = shell([&](std::int64_t n) {
      return "trap 'echo > " + file("saved", n).string() + "; exit 143' TERM; echo > " + file("ready", n).string() +
             "; while :; do sleep 0.02; done";
    })(number);
    while (!fs::exists(file("ready", number))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop = ++started == 2;
    return process;
  };
  CHECK_FALSE(compare({config}, options).complete);
  CHECK(started == 2);
  for (const std::int64_t number : {1, 2}) CHECK(fs::exists(file("saved", number)));
  CHECK_FALSE(fs::exists(folder.path() / "out" / "compare.json"));
}

}  // namespace chargpt
