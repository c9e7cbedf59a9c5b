// Whole comparisons of tiny models on a text of a few thousand characters.
#include "compare/compare.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "bench.h"
#include "compare/comparison_report.h"
#include "evaluate/split_loss.h"
#include "kernels/processor.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"
#include "train/learner.h"

namespace chargpt {
namespace {

/// With runs trained as the program would.
Comparison compared(std::vector<ResolvedConfig> configs, const CompareOptions& options) {
  return compare(std::move(configs), options, Record().hooks());
}

/// A config that trains for so many seconds.
ResolvedConfig timed(ResolvedConfig config, double seconds) {
  apply_overrides(config, std::vector<Override>{{"train.max_seconds", std::to_string(seconds), "--max-seconds"}});
  return config;
}

/// Steps of 2 x 64 tokens; a train split of 1,280 tokens makes an epoch of 10 steps.
ResolvedConfig of_length(const std::string& length) {
  return parse_config(R"({"model": {"block_size": 64}, "train": {"batch_size": 2, )" + length + "}}", "test", {});
}

std::string difference(const std::string& a, const std::string& b) {
  return length_difference({of_length(a), of_length(b)}, {"a", "b"}, 1280);
}

}  // namespace

TEST_CASE_METHOD(Bench, "a comparison trains every config with every seed and ranks them") {
  ResolvedConfig untrained = config_of("untrained"), trained = config_of("trained");
  untrained.config.train.learning_rate = 0;
  untrained.config.train.min_lr = 0;
  trained.config.train.max_iters = 60;
  Record record;
  const Comparison comparison = compare({untrained, trained}, options_for(2), record.hooks());

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
    const Checkpoint last = load_checkpoint(run.run, "last");
    const auto tokens = static_cast<double>(last.state.step * tokens_per_step(last.config.config));
    CHECK(run.tokens_per_second == Approx(tokens / last.state.training_seconds));
    CHECK(run.seconds > 0);
    CHECK(fs::file_size(run.run / "val_losses.f32") == 399 * 4);
    CHECK(fs::exists(run.run / "config.json"));
    CHECK_FALSE(list_checkpoints(run.run).empty());
  }
  CHECK(nlohmann::ordered_json::parse(read_file(out / "compare.json")) == to_json(comparison));
}

TEST_CASE_METHOD(Bench, "the weights scored are those that the run ended with, however good it once was") {
  ResolvedConfig config = config_of("unstable");
  config.config.train.max_iters = 40;
  config.config.train.warmup_iters = 40;  // the rate rises to the end, far above what is good
  config.config.train.learning_rate = 0.5;
  const Comparison comparison = compared({config}, options_for(1));
  const SeedRun& run = comparison.results.at(0).runs.seeds.at(0);
  const Checkpoint best = load_checkpoint(run.run, "best");
  const Checkpoint last = load_checkpoint(run.run, "last");
  CHECK(best.state.step < 40);
  CHECK(run.step == 40);
  CHECK(run.loss == last.state.val_loss);
  CHECK(run.lowest_loss == best.state.val_loss);
  CHECK(run.lowest_step == best.state.step);
}

TEST_CASE_METHOD(Bench, "evaluations of a few windows tell no lowest loss beside that of the whole split") {
  ResolvedConfig config = config_of("estimated");
  config.config.eval.eval_iters = 2;
  const Comparison comparison = compared({config}, options_for(1));
  const SeedRun& run = comparison.results.at(0).runs.seeds.at(0);
  CHECK(std::isfinite(run.loss));
  CHECK(std::isinf(run.lowest_loss));
}

TEST_CASE_METHOD(Bench, "a comparison started again reuses every run that ended") {
  const ResolvedConfig config = config_of("a");
  Record first, again, more;
  const Comparison before = compare({config}, options_for(2), first.hooks());
  const Comparison after = compare({config}, options_for(2), again.hooks());
  CHECK(again.begun.empty());
  CHECK(again.reused == Names{"a-seed50", "a-seed51"});
  CHECK(to_json(after) == to_json(before));
  compare({config}, options_for(3), more.hooks());
  CHECK(more.ended == Names{"a-seed52"});
}

TEST_CASE_METHOD(Bench, "a comparison that was stopped goes on to the same figures") {
  ResolvedConfig config = config_of("gpt", "gpt");
  config.config.model.dropout = 0.1;
  CompareOptions options = options_for(2);
  const Comparison whole = compared({config}, options);

  Record stopping, record;
  options.out = path() / "broken";
  options.stop = &stopping.stop;
  stopping.listen = [&](const PlannedRun& run, Trainer& trainer, std::optional<std::int64_t>) {
    if (run.seed() == 51) stopping.stop_at(trainer, 13);
  };
  const Comparison broken = compare({config}, options, stopping.hooks());
  CHECK_FALSE(broken.complete);
  CHECK(broken.results.empty());
  CHECK_FALSE(fs::exists(options.out / "compare.json"));

  options.stop = &record.stop;
  record.training.trainer.threads = 0;  // as many as the run had
  const Comparison gone_on = compare({config}, options, record.hooks());
  CHECK(record.threads == std::vector<std::int64_t>{1});
  CHECK(record.reused == Names{"gpt-seed50"});
  CHECK(record.resumed == std::map<std::string, std::int64_t>{{"gpt-seed51", 13}});
  for (const std::size_t k : {0, 1})
    CHECK(gone_on.results[0].runs.seeds[k].losses == whole.results[0].runs.seeds[k].losses);
}

TEST_CASE_METHOD(Bench, "damaged losses are made again from the run's checkpoint") {
  const ResolvedConfig config = config_of("a");
  const Comparison before = compared({config}, options_for(1));
  write("out/a-seed50/val_losses.f32", "short");
  Record record;
  const Comparison after = compare({config}, options_for(1), record.hooks());
  REQUIRE_FALSE(record.notices.empty());
  CHECK_THAT(record.notices[0], Catch::Contains("val_losses.json cannot be used"));
  CHECK(after.results[0].runs.seeds[0].losses == before.results[0].runs.seeds[0].losses);
}

TEST_CASE_METHOD(Bench, "a folder that holds a run of other options is refused before anything is trained") {
  ResolvedConfig config = config_of("a");
  compared({config}, options_for(1));
  const std::string before = read_file(out / "a-seed50" / "val_losses.json");
  config.config.train.learning_rate = 0.5;
  Record record;
  CHECK_THAT(message_of(ExitCode::busy,
                        [&] {
                          compare({config_of("new"), config}, options_for(1), record.hooks());
                        }),
             Catch::Contains("a-seed50 holds a run of other options (train.learning_rate 0.01 -> 0.5)"));
  CHECK(record.begun.empty());
  CHECK(read_file(out / "a-seed50" / "val_losses.json") == before);
}

TEST_CASE_METHOD(Bench, "of two limits, a run that one of them ended is no run of another such limit") {
  const auto of_steps = [this](const char* steps) {
    ResolvedConfig config = config_of("a");
    apply_overrides(config, std::vector<Override>{{"train.max_iters", steps, ""}, {"train.max_epochs", "50", ""}});
    return config;
  };
  compared({of_steps("8")}, options_for(1));
  Record again;
  compare({of_steps("8")}, options_for(1), again.hooks());
  CHECK(again.reused == Names{"a-seed50"});
  CHECK_THAT(message_of(ExitCode::busy, [&] { compared({of_steps("12")}, options_for(1)); }),
             Catch::Contains("holds a run of other options (train.max_iters 8 -> 12)"));
}

TEST_CASE_METHOD(Bench, "a run in use by another process is refused") {
  const ResolvedConfig config = config_of("a");
  fs::create_directories(out / "a-seed50");
  const RunLock lock(out / "a-seed50");
  CHECK_THAT(message_of(ExitCode::busy, [&] { compared({config}, options_for(1)); }),
             Catch::Contains("a with seed 50: "));
}

TEST_CASE_METHOD(Bench, "configs of different texts, units or splits do not compare") {
  const auto with = [&](const ResolvedConfig& second) {
    return error_of([&] { compared({config_of("a"), second}, options_for(1)); });
  };
  ResolvedConfig other = config_of("b"), copy = other, split = other, units = other;
  other.config.data.text = {text_file("other", 2)};
  copy.config.data.text = {text_file("copy")};
  split.config.data.val_fraction = 0.2;
  units.config.data.units = Units::bytes;
  CHECK(with(other).code == ExitCode::usage);
  CHECK_THAT(with(other).line, Catch::Contains("configs a and b differ in their text (data.text"));
  CHECK(with(split).code == ExitCode::usage);
  CHECK(with(units).code == ExitCode::usage);
  CHECK(with(copy) == Failure{});  // the same characters in another file
}

TEST_CASE_METHOD(Bench, "the first config's seed takes the place of every config's own") {
  ResolvedConfig a = config_of("a"), b = config_of("b");
  b.config.train.seed = 7;
  const Comparison comparison = compared({a, b}, options_for(1));
  for (const ConfigResult& result : comparison.results) CHECK(result.runs.seeds[0].seed == 50);
  // Equal but for their names: the same weights, the same windows, the same loss.
  CHECK(comparison.results[1].versus_best->mean == 0);
  CHECK_FALSE(comparison.results[1].versus_best->p);  // one seed
}

TEST_CASE_METHOD(Bench, "what configs differ in length is told once, before anything is trained") {
  ResolvedConfig wide = config_of("wide");
  wide.config.train.batch_size = 8;
  Record record;
  CompareHooks hooks = record.hooks();
  Names lines;
  hooks.notice = [&](const std::string& line) { lines.push_back(std::to_string(record.begun.size()) + ": " + line); };
  compare({config_of("first"), wide}, options_for(2), hooks);
  CHECK(lines == Names{"0: configs differ in length: first 640 tokens in 20 steps, wide 1.28k tokens in 20 steps; "
                       "--max_iters makes steps equal, --max_epochs tokens, --max_seconds time"});
}

TEST_CASE_METHOD(Bench, "a length in seconds is kept by a comparison that is started again") {
  const ResolvedConfig config = timed(config_of("a"), 2);
  Record first, again;
  first.by_clock = true;
  compare({config}, options_for(1), first.hooks());
  compare({config}, options_for(1), again.hooks());
  CHECK(again.reused == Names{"a-seed50"});
}

TEST_CASE_METHOD(Bench, "a broken-off comparison by seconds goes on with its seconds and keeps its shares") {
  const ResolvedConfig config = timed(config_of("a"), 4);
  CompareOptions options = options_for(1);
  Record record;
  options.stop = &record.stop;
  record.by_clock = true;
  std::int64_t steps = 0;
  Names notices;
  record.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    record.stop_at(trainer, 12);
    hear<StepEvent>(trainer, [&](const StepEvent&) { ++steps; });
    hear<NoticeEvent>(trainer, [&](const NoticeEvent& event) { notices.push_back(event.line); });
  };
  const CompareHooks hooks = record.hooks();
  CHECK_FALSE(compare({config}, options, hooks).complete);
  const fs::path run = options.out / "a-seed50";
  const std::vector<float> before = load_checkpoint(run, "last").state.shares;
  record.stop = false;
  record.seconds_of_a_beat = 0.003;  // another pace now
  REQUIRE(compare({config}, options, hooks).complete);
  const std::vector<float> shares = load_checkpoint(run, "last").state.shares;
  CHECK(std::ssize(shares) == steps);
  REQUIRE(before.size() == 12);
  CHECK(std::ranges::equal(before, std::span(shares).first(12)));
  for (const std::string& line : notices) CHECK_THAT(line, !Catch::Contains("changed"));
}

TEST_CASE_METHOD(Bench, "seeds of one config replay the shares of the first, other configs do not") {
  ResolvedConfig slow = config_of("slow");
  slow.config.train.gradient_accumulation_steps = 8;
  Record record;
  record.by_clock = true;
  CompareHooks hooks = record.hooks();
  hooks.after_run = [&](const PlannedRun&, const SeedRun&, bool) { record.seconds_of_a_beat *= 0.8; };
  const Comparison comparison = compare({timed(config_of("a"), 4), timed(slow, 4)}, options_for(3), hooks);
  std::map<std::string, std::int64_t> steps;
  for (const ConfigResult& result : comparison.results) {
    steps[result.runs.config] = result.runs.seeds[0].steps;
    for (const SeedRun& run : result.runs.seeds) {
      CHECK(run.steps == result.runs.seeds[0].steps);
      CHECK(run.ended == Ending::seconds);
    }
  }
  CHECK(steps["a"] > steps["slow"]);
  CHECK(steps["slow"] > 0);
  CHECK_THAT(remarks(comparison).back(), Catch::Contains("a " + std::to_string(steps["a"])));
  CHECK(to_json(comparison)["results"][0]["seeds"][0]["ended"] == "seconds");
}

TEST_CASE_METHOD(Bench, "where the first seed of a config failed, the others find their own length in the time") {
  Record record;
  record.by_clock = true;
  record.listen = [&](const PlannedRun& run, Trainer& trainer, std::optional<std::int64_t>) {
    if (run.folder.filename() != "a-seed50") return;
    hear<StepEvent>(trainer, [&](const StepEvent& event) {
      if (event.step < 5) return;
      record.seconds_of_a_beat *= 2;  // the next one is slower than this one has guessed
      throw Error(ExitCode::memory, "no room");
    });
  };
  const Comparison comparison = compare({timed(config_of("a"), 4)}, options_for(2), record.hooks());
  const std::vector<SeedRun>& seeds = comparison.results[0].runs.seeds;
  CHECK(seeds[0].failure);
  CHECK(seeds[1].steps > 0);
  CHECK(seeds[1].seconds > 0.9 * 4);
  CHECK(seeds[1].seconds <= 4);
}

TEST_CASE_METHOD(Bench, "a stop while the last weights are scored is noticed, and a repeated comparison scores them") {
  const ResolvedConfig config = config_of("a");
  CompareOptions options = options_for(1);
  Record record;
  options.stop = &record.stop;
  record.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    hear<EndEvent>(trainer, [&](const EndEvent&) { record.stop = true; });
  };
  CHECK_FALSE(compare({config}, options, record.hooks()).complete);
  record.stop = false;
  const Comparison comparison = compared({config}, options);
  REQUIRE(comparison.complete);
  CHECK(comparison.results[0].runs.seeds[0].steps == 20);
}

TEST_CASE_METHOD(Bench, "configs of one name, and of names with a slash, get folders of their own") {
  Record record;
  const Comparison comparison = compare({config_of("ladder/a"), config_of("ladder/a")}, options_for(1), record.hooks());
  CHECK(record.ended == Names{"ladder-a-seed50", "ladder-a-2-seed50"});
  CHECK(comparison.results[0].runs.config == "ladder/a");
  CHECK(comparison.results[1].runs.config == "ladder/a-2");
}

TEST_CASE_METHOD(Bench, "a run that diverges is listed and the others go on") {
  ResolvedConfig diverging = config_of("diverging", "gpt");
  diverging.config.train.learning_rate = 1000;
  diverging.config.train.weight_decay = 1000;
  diverging.config.train.grad_clip = 0;
  diverging.config.train.warmup_iters = 0;
  diverging.config.train.max_iters = 200;
  const Comparison comparison = compared({diverging, config_of("sound")}, options_for(1));
  REQUIRE(comparison.complete);
  CHECK(comparison.results[0].runs.config == "sound");
  CHECK_THAT(comparison.results[1].runs.seeds[0].failure->what(), Catch::Contains("training diverged"));
  CHECK_FALSE(fs::exists(comparison.results[1].runs.seeds[0].run / "val_losses.json"));
}

TEST_CASE_METHOD(Bench, "a model that sees its own targets is compared but not ranked") {
  ResolvedConfig leaking = config_of("leaking", "average");
  leaking.config.model.causal = false;
  const Comparison comparison = compared({leaking, config_of("honest")}, options_for(1));
  CHECK(comparison.results[0].runs.config == "honest");
  CHECK(comparison.results[1].runs.leaks);
  CHECK(comparison.results[1].rank == 0);
}

TEST_CASE_METHOD(Bench, "a planned run gets its share of the threads, and removes what a crash left") {
  CompareOptions options = options_for(2);
  options.jobs = 2;
  write("out/a-seed51/.chargpt-1-1.partial", "{");
  Record record;
  record.training.jobs = 2;
  record.training.trainer.threads = 5;
  const Comparison comparison = compare({config_of("a")}, options, record.hooks());
  CHECK(record.threads == std::vector<std::int64_t>{2, 2});
  for (const SeedRun& run : comparison.results.at(0).runs.seeds) CHECK(run.jobs == 2);
  CHECK_FALSE(fs::exists(options.out / "a-seed51" / ".chargpt-1-1.partial"));
}

TEST_CASE_METHOD(Bench, "a run that goes on keeps its threads, however many trainings share the machine now") {
  const ResolvedConfig config = config_of("a");
  CompareOptions options = options_for(1);
  Record stopping, record;
  options.stop = &stopping.stop;
  stopping.training.trainer.threads = 2;
  stopping.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    stopping.stop_at(trainer, 13);
  };
  CHECK_FALSE(compare({config}, options, stopping.hooks()).complete);
  options.stop = &record.stop;
  record.training.trainer.threads = 0;
  record.training.jobs = 1000;  // whose shares are of one thread
  CHECK(compare({config}, options, record.hooks()).complete);
  CHECK(record.threads == std::vector<std::int64_t>{std::min<std::int64_t>(2, usable_processors())});
}

TEST_CASE_METHOD(Bench, "the test split is scored at a run's end") {
  ResolvedConfig config = config_of("a");
  config.config.data.test_fraction = 0.1;
  CHECK(compared({config}, options_for(1)).results.at(0).runs.seeds.at(0).test_loss);
}

TEST_CASE("configs that train equally long are not spoken of") {
  CHECK(difference(R"("max_iters": 30)", R"("max_iters": 30)").empty());
  CHECK(difference(R"("max_iters": 30)", R"("max_epochs": 3)").empty());
  CHECK(difference(R"("max_iters": 30)", R"("max_iters": 90, "max_epochs": 3)").empty());
  CHECK(difference(R"("max_iters": 30)", R"("max_iters": 30, "max_epochs": 9)").empty());
  CHECK(difference(R"("max_seconds": 7)", R"("max_seconds": 7)").empty());
}

TEST_CASE("what differs is named: tokens, steps or seconds") {
  CHECK(difference(R"("max_iters": 10)", R"("max_iters": 10, "gradient_accumulation_steps": 2)") ==
        "configs differ in length: a 1.28k tokens in 10 steps, b 2.56k tokens in 10 steps; --max_iters makes steps "
        "equal, --max_epochs tokens, --max_seconds time");
  CHECK_FALSE(difference(R"("max_iters": 10)", R"("max_iters": 5, "gradient_accumulation_steps": 2)").empty());
  CHECK(difference(R"("max_seconds": 7)", R"("max_iters": 10)")
            .starts_with("configs differ in length: a 7.0 s, b 1.28k tokens in 10 steps; "));
}

TEST_CASE("of many configs the first four are listed") {
  std::vector<ResolvedConfig> configs(6, of_length(R"("max_iters": 10)"));
  configs.back() = of_length(R"("max_iters": 20)");
  CHECK(length_difference(configs, {"a", "b", "c", "d", "e", "f"}, 1280)
            .ends_with(", d 1.28k tokens in 10 steps, …; --max_iters makes steps equal, --max_epochs tokens, "
                       "--max_seconds time"));
}

}  // namespace chargpt
