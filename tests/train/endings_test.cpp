// Why runs end, what a stop drops, and that what was dropped is done again to the same bits.
#include <torch/types.h>

#include "base/heartbeat.h"
#include "small_run.h"

#include "run/checkpoints.h"
#include "test.h"

using namespace chargpt;

namespace {

TrainerOptions by_engine(const std::string& engine, std::int64_t threads = 0) {
  TrainerOptions options;
  options.engine = engine;
  options.threads = threads;
  return options;
}

TrainerOptions in_folder(const std::filesystem::path& run) {
  TrainerOptions options = by_engine(tested_engine());
  options.run = run;
  return options;
}

/// Of tables, dropout and several micro-batches, so that a dropped update has much to leave behind.
ResolvedConfig large_steps() {
  ResolvedConfig resolved = small_config();
  Config& config = resolved.config;
  config.model.ngram_orders = {2, 3};
  config.model.ngram_rows = {210, 300};
  config.train.gradient_accumulation_steps = 4;
  config.train.ema = 0.9;
  config.train.groups = {{.match = "ngram",
                          .learning_rate = 1e-2,
                          .weight_decay = 0.1,
                          .optimizer = UpdateRule::sparse_adam,
                          .momentum = 0},
                         {.match = "(attn|mlp).*weight",
                          .learning_rate = 1e-2,
                          .weight_decay = 0.1,
                          .optimizer = UpdateRule::muon,
                          .momentum = 0.9}};
  return resolved;
}

using EvalRow = std::tuple<std::int64_t, double, double, double, bool, double>;
std::vector<EvalRow> rows_of(const std::vector<EvalEvent>& events) {
  std::vector<EvalRow> rows;
  for (const EvalEvent& e : events)
    rows.emplace_back(e.step, *e.train_loss, e.val_loss, e.averaged_val_loss.value_or(0), e.best, e.best_val_loss);
  return rows;
}

std::vector<std::pair<std::int64_t, std::string>> texts_of(const std::vector<SampleEvent>& events) {
  std::vector<std::pair<std::int64_t, std::string>> texts;
  for (const SampleEvent& event : events) texts.emplace_back(event.step, event.text);
  return texts;
}

/// Stops in the midst of `work` after `step` updates, resumes, and compares with a run that nothing happened to.
void check_repeats(const ResolvedConfig& config, const std::string& work, std::int64_t step,
                   const TrainerOptions& options = by_engine(tested_engine())) {
  INFO(work << " at step " << step << ", engine " << options.engine << ", threads " << options.threads);
  const TestFolder folder, whole_folder;
  TrainerOptions kept_options = options, whole_options = options;
  kept_options.run = folder.path();
  whole_options.run = whole_folder.path();
  SmallRun whole(config, whole_options);
  REQUIRE(whole.trainer.run() == Ending::finished);
  SmallRun first(config, kept_options);
  first.recorder->stop_in = work;
  first.recorder->stop_in_step = step;
  REQUIRE(first.trainer.run() == Ending::stopped);
  CHECK(first.recorder->stop_in.empty());
  CHECK(first.trainer.state().step == step);
  CHECK(last_checkpoint(folder.path()).state.step == step);
  SmallRun second(config, kept_options);
  second.trainer.resume_from(last_checkpoint(folder.path()));
  REQUIRE(second.trainer.run() == Ending::finished);

  CHECK(joined_rows(first.recorder->losses(), second.recorder->losses()) == whole.recorder->losses());
  const bool same_rows = joined_rows(rows_of(first.recorder->evaluations), rows_of(second.recorder->evaluations)) ==
                         rows_of(whole.recorder->evaluations);  // which cannot be printed
  CHECK(same_rows);
  const bool same_samples = joined_rows(texts_of(first.recorder->samples), texts_of(second.recorder->samples)) ==
                            texts_of(whole.recorder->samples);
  CHECK(same_samples);
  CHECK(second.trainer.state().best_step == whole.trainer.state().best_step);
  CHECK(second.trainer.state().evals_without_improvement == whole.trainer.state().evals_without_improvement);
  std::vector<std::string> notices;
  CHECK(load_checkpoint(folder.path(), "best", false, notices).state.step ==
        load_checkpoint(whole_folder.path(), "best", false, notices).state.step);
  check_equal_bits(whole.trainer.arena(), second.trainer.arena());
}

/// Time passes where there is work: so much at each of its beats, and so much more in each of the later updates.
class FakeClock : public Listener {
 public:
  using Listener::on;
  void on(const WorkEvent& event) override {
    *seconds_ += 0.01;
    if (event.what == "updating" && event.step >= slow_from && event.step != slowed_) *seconds_ += slow;
    if (event.what == "updating") slowed_ = event.step;
  }
  std::function<double()> look() const {
    return [seconds = seconds_] { return *seconds; };
  }
  double seconds() const { return *seconds_; }
  std::int64_t slow_from = 1'000'000;
  double slow = 0;

 private:
  std::shared_ptr<double> seconds_ = std::make_shared<double>(1000.0);
  std::int64_t slowed_ = -1;
};

ResolvedConfig timed_config(double seconds) {
  ResolvedConfig config = small_config();
  config.config.train.max_iters = 0;
  config.config.train.max_seconds = seconds;
  config.config.eval.eval_interval = 100;
  config.config.eval.sample_tokens = 0;
  return config;
}

std::unique_ptr<SmallRun> timed_run(const ResolvedConfig& config, const std::shared_ptr<FakeClock>& clock,
                                    TrainerOptions options = {}) {
  options.clock = clock->look();
  auto run = std::make_unique<SmallRun>(config, options);
  run->trainer.add_listener(clock);
  return run;
}

}  // namespace

TEST_CASE("an update that a stop has dropped between micro-batches is done again to the same bits") {
  const ResolvedConfig config = large_steps();
  for (const char* engine : {"autograd", "cpu"})
    for (const std::int64_t threads : {1, 2}) {
      check_repeats(config, "updating", 6, by_engine(engine, threads));
      check_repeats(config, "updating", 0, by_engine(engine, threads));
    }
}

TEST_CASE("an evaluation or a sample that a stop has dropped is done again, with the same rows") {
  for (const std::int64_t step : {0, 5, 10}) {
    check_repeats(large_steps(), "evaluating", step);
    check_repeats(small_config(), "evaluating", step);
    check_repeats(small_config(), "sampling", step);
  }
  ResolvedConfig config = small_config();
  config.config.train.on_nonfinite = OnNonfinite::rollback;
  check_repeats(config, "evaluating", 0);
  check_repeats(config, "evaluating", 10);
}

TEST_CASE("a stop while the length is measured has begun nothing, and leaves weights as they were") {
  const TestFolder folder;
  SmallRun run(timed_config(10), in_folder(folder.path()));
  run.recorder->stop = true;
  std::vector<torch::Tensor> before;
  for (const ParameterGroup& group : run.trainer.arena().groups()) before.push_back(group.values.clone());
  CHECK_THROWS_AS(run.trainer.plan(true), Interrupted);
  CHECK_THROWS_AS(run.trainer.run(), Interrupted);
  CHECK(list_checkpoints(folder.path()).empty());
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(torch::equal(before[i], run.trainer.arena().groups()[i].values));
}

TEST_CASE("a run says why it ended, in its last event and in its last checkpoint") {
  const TestFolder folder;
  SmallRun finished(small_config(), folder.path());
  finished.trainer.run();
  REQUIRE(finished.recorder->ends.size() == 1);
  CHECK(finished.recorder->ends[0].ended == Ending::finished);
  CHECK(finished.recorder->ends[0].step == 12);
  CHECK(last_checkpoint(folder.path()).state.ended == Ending::finished);

  const TestFolder another;
  SmallRun stopped(small_config(), another.path(), 7);
  stopped.trainer.run();
  CHECK(stopped.recorder->ends.at(0).ended == Ending::stopped);
  CHECK(last_checkpoint(another.path()).state.ended == Ending::stopped);
  SmallRun resumed(small_config(), another.path());
  resumed.trainer.resume_from(last_checkpoint(another.path()));
  CHECK(resumed.trainer.state().ended == Ending::unknown);

  ResolvedConfig config = small_config();
  config.config.train.learning_rate = 1000;
  config.config.train.weight_decay = 1000;
  config.config.train.grad_clip = 0;
  config.config.train.warmup_iters = 0;
  config.config.train.max_iters = 1000;
  SmallRun diverging(config);
  CHECK_THROWS_AS(diverging.trainer.run(), Error);
  REQUIRE(diverging.recorder->ends.size() == 1);
  CHECK(diverging.recorder->ends[0].ended == Ending::diverged);
}

TEST_CASE("patience is told, stays at its end, and starts over with more steps or another patience") {
  const TestFolder folder;
  ResolvedConfig config = small_config();
  config.config.train.max_iters = 400;
  config.config.train.learning_rate = config.config.train.min_lr = 0;  // nothing improves on the first evaluation
  config.config.train.patience = 3;
  SmallRun run(config, folder.path());
  CHECK(run.trainer.run() == Ending::patience);
  CHECK(run.trainer.state().step == 20);
  CHECK(run.recorder->ends.at(0).patience == 3);
  CHECK(last_checkpoint(folder.path()).state.ended == Ending::patience);

  const auto updates_of_resumed = [&](std::int64_t max_iters, std::int64_t patience) {
    const TestFolder unsaved;
    config.config.train.max_iters = max_iters;
    config.config.train.patience = patience;
    SmallRun resumed(config, unsaved.path());
    resumed.trainer.resume_from(last_checkpoint(folder.path()));
    CHECK(resumed.trainer.run() == Ending::patience);
    const bool same = max_iters == 400 && patience == 3;
    CHECK(resumed.recorder->noticed("patience starts over") == !same);
    return resumed.recorder->steps.size();
  };
  CHECK(updates_of_resumed(400, 3) == 0);
  CHECK(updates_of_resumed(500, 3) == 15);
  CHECK(updates_of_resumed(400, 2) == 10);
  CHECK(updates_of_resumed(400, 4) == 20);
}

TEST_CASE(
    "max_seconds is fixed as a number of steps that end in time, evaluations, saves and what follows counted in") {
  const TestFolder folder;
  const auto clock = std::make_shared<FakeClock>();
  const double begun = clock->seconds();
  const ClosingWork closing{.validations = 1, .seconds = 5};
  TrainerOptions options = in_folder(folder.path());
  options.closing = closing;
  const auto run = timed_run(timed_config(60), clock, options);
  CHECK(run->trainer.run() == Ending::finished);
  const std::int64_t frozen = run->trainer.config().config.train.max_iters;
  CHECK(run->trainer.state().step == frozen);
  CHECK(frozen > 100);
  const double spent = clock->seconds() - begun;
  CHECK(spent < 55);
  CHECK(spent > 50);
  CHECK(run->trainer.config().origin.at("train.max_iters") == "train.max_seconds");
  CHECK(run->recorder->evaluations.front().exact);

  const Checkpoint checkpoint = last_checkpoint(folder.path());
  const auto resumed = timed_run(checkpoint.config, clock, in_folder(folder.path()));
  resumed->trainer.resume_from(checkpoint);
  CHECK(resumed->trainer.plan(false).max_iters == frozen);
  CHECK(resumed->trainer.run() == Ending::finished);
  CHECK(resumed->recorder->steps.empty());
}

TEST_CASE("a machine that turns slow ends the run by seconds, evaluated and saved in time") {
  const TestFolder folder;
  const auto clock = std::make_shared<FakeClock>();
  const double begun = clock->seconds();
  clock->slow_from = 20;
  clock->slow = 0.5;
  const auto run = timed_run(timed_config(60), clock, in_folder(folder.path()));
  CHECK(run->trainer.run() == Ending::seconds);
  CHECK(clock->seconds() - begun < 60);
  CHECK(clock->seconds() - begun > 58);
  const RunState& state = run->trainer.state();
  CHECK(state.step < state.max_iters);
  CHECK(run->recorder->evaluations.back().step == state.step);
  CHECK(run->recorder->ends.at(0).ended == Ending::seconds);
  CHECK(last_checkpoint(folder.path()).state.step == state.step);

  // The seconds are those of all processes together, and more of them go on.
  const auto again = timed_run(last_checkpoint(folder.path()).config, clock, in_folder(folder.path()));
  again->trainer.resume_from(last_checkpoint(folder.path()));
  CHECK(again->trainer.run() == Ending::seconds);
  CHECK(again->recorder->steps.size() <= 1);  // it takes an update for it to see how slow they are
  ResolvedConfig longer = last_checkpoint(folder.path()).config;
  longer.config.train.max_seconds = 120;
  clock->slow = 0;
  const auto more = timed_run(longer, clock, in_folder(folder.path()));
  more->trainer.resume_from(last_checkpoint(folder.path()));
  CHECK(more->trainer.run() == Ending::finished);
  CHECK(more->recorder->steps.size() > 100);
  CHECK(more->trainer.state().seconds < 120);
}

TEST_CASE("where max_seconds are over before the first update one is made, of a part evaluated, and that is said") {
  const TestFolder folder;
  const auto clock = std::make_shared<FakeClock>();
  TrainerOptions options = in_folder(folder.path());
  options.process_started = clock->seconds() - 20;
  const auto run = timed_run(timed_config(10), clock, options);
  run->trainer.run();
  CHECK(run->trainer.state().step == 1);
  CHECK(run->recorder->noticed("train.max_seconds = 10 leaves no time to train"));
  CHECK_FALSE(run->recorder->evaluations.front().exact);
  const ResolvedConfig kept = last_checkpoint(folder.path()).config;
  CHECK(kept.config.eval.eval_iters == 1);
  CHECK(kept.origin.at("eval.eval_iters") == "train.max_seconds");
}

TEST_CASE("a length that another run has settled is taken as it is") {
  TrainerOptions options;
  options.settled = {.max_iters = 17, .eval_iters = 2};
  const auto run = timed_run(timed_config(60), std::make_shared<FakeClock>(), options);
  CHECK(run->trainer.run() == Ending::finished);
  CHECK(run->trainer.state().step == 17);
  CHECK(run->trainer.config().config.eval.eval_iters == 2);
}

TEST_CASE("what may take long tells how far it has come") {
  const TestFolder folder;
  SmallRun run(large_steps(), folder.path());
  run.trainer.run();
  CHECK(run.recorder->works == std::set<std::string>{"evaluating", "measuring", "sampling", "saving", "updating"});
}
