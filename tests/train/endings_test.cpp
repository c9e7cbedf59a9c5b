// Why runs end, what a stop drops, and that what was dropped is done again to the same bits.

#include "base/heartbeat.h"
#include "train/learner.h"
#include "twin.h"

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

/// Of two update rules and several micro-batches, so that a dropped update has much to leave behind.
ResolvedConfig large_steps() {
  ResolvedConfig resolved = small_config();
  Config& config = resolved.config;
  config.train.gradient_accumulation_steps = 4;
  config.train.ema = 0.9;
  config.train.groups = {{.match = "(attn|mlp).*weight",
                          .learning_rate = 1e-2,
                          .weight_decay = 0.1,
                          .optimizer = UpdateRule::muon,
                          .momentum = 0.9}};
  return resolved;
}

/// Between 0.93 of max_seconds and all of them, and the weights that were saved last evaluated.
void check_used(SmallRun& run, double spent) {
  const double share = spent / run.trainer.config().config.train.max_seconds;
  CHECK(share >= 0.93);
  CHECK(share <= 1.0);
  const std::int64_t last = run.trainer.state().step;
  CHECK(run.recorder->evaluations.back().step == last);
  CHECK(run.recorder->checkpoints.back().step == last);
  CHECK(std::isfinite(run.trainer.state().val_loss));
}

}  // namespace

TEST_CASE("an update that a stop has dropped between micro-batches is done again to the same bits", "[libtorch]") {
  const ResolvedConfig config = large_steps();
  for (const char* engine : {"libtorch", "cpu"})
    for (const std::int64_t threads : {1, 2}) {
      check_resumes(config, {6, "updating"}, by_engine(engine, threads));
      check_resumes(config, {0, "updating"}, by_engine(engine, threads));
    }
}

TEST_CASE("an evaluation or a sample that a stop has dropped is done again, with the same rows") {
  for (const std::int64_t step : {0, 5, 10, 12}) {  // the last of all
    check_resumes(large_steps(), {step, "evaluating"});
    check_resumes(small_config(), {step, "evaluating"});
    check_resumes(small_config(), {step, "sampling"});
  }
}

TEST_CASE_METHOD(TestFolder, "a stop before the first step saves the weights as they were") {
  SmallRun run(timed_config(10), in_folder(path()));
  run.recorder->stop = true;
  const ArenaCopy before(run.trainer.arena());
  CHECK_THROWS_AS(run.trainer.plan(false), Interrupted);
  CHECK(run.trainer.run() == Ending::stopped);
  CHECK(last_checkpoint(path()).state.step == 0);
  CHECK(equal(before.values, run.trainer.arena().values));
}

TEST_CASE_METHOD(TestFolder, "a run says why it ended, in its last event and in its last checkpoint") {
  EndedRun finished(small_config(), path());
  REQUIRE(finished.recorder->ends.size() == 1);
  CHECK(finished.recorder->ends[0].ended == Ending::finished);
  CHECK(finished.recorder->ends[0].step == 12);
  CHECK(last_checkpoint(path()).state.ended == Ending::finished);

  const TestFolder another;
  EndedRun stopped(small_config(), another.path(), 7);
  CHECK(stopped.recorder->ends.at(0).ended == Ending::stopped);
  CHECK(last_checkpoint(another.path()).state.ended == Ending::stopped);
  ResumedRun resumed(small_config(), another.path());
  CHECK(resumed.trainer.state().ended == Ending::unknown);

  ResolvedConfig config = small_config();
  config.config.train.learning_rate = 1000;
  config.config.train.weight_decay = 1000;
  config.config.train.grad_clip = 0;
  config.config.train.warmup_iters = 0;
  config.config.train.max_iters = 1000;
  SmallRun diverging(config);
  CHECK_THROWS_WITH(diverging.trainer.run(), Catch::Contains(", or set train.grad_clip = 1"));
  REQUIRE(diverging.recorder->ends.size() == 1);
  CHECK(diverging.recorder->ends[0].ended == Ending::diverged);
}

TEST_CASE_METHOD(TestFolder, "patience is told, stays at its end, and starts over with other steps or patience") {
  ResolvedConfig config = small_config();
  config.config.train.max_iters = 400;
  config.config.train.learning_rate = config.config.train.min_lr = 0;  // nothing improves on the first evaluation
  config.config.train.patience = 3;
  SmallRun run(config, path());
  CHECK(run.trainer.run() == Ending::patience);
  CHECK(run.trainer.state().step == 15);  // none is better than guessing
  CHECK(last_checkpoint(path()).state.ended == Ending::patience);

  const auto updates_of_resumed = [&](std::int64_t max_iters, std::int64_t patience) {
    const TestFolder unsaved;
    config.config.train.max_iters = max_iters;
    config.config.train.patience = patience;
    ResumedRun resumed(config, unsaved.path(), last_checkpoint(path()));
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

TEST_CASE_METHOD(TestFolder, "max_seconds holds the last step, evaluation and save", "[seconds]") {
  const auto clock = std::make_shared<FakeClock>();
  const auto run = timed_run(timed_config(60), clock, in_folder(path()));
  CHECK(run->trainer.run() == Ending::seconds);
  const RunState& state = run->trainer.state();
  check_used(*run, clock->seconds - 1000);
  CHECK(state.step > 100);
  CHECK(run->recorder->steps.back().lr < 0.02 * 1e-2 + 1e-3);
  CHECK(run->recorder->evaluations.size() > 9);
  const ResolvedConfig& config = run->trainer.config();
  CHECK(config.config.train.max_iters == 0);  // as it was asked for
  CHECK(config.config.eval.eval_iters == 0);

  const Checkpoint checkpoint = last_checkpoint(path());
  CHECK(checkpoint.state.shares == state.shares);
  CHECK(std::ssize(state.shares) == state.step);
  CHECK(std::ranges::is_sorted(state.shares));
  CHECK(checkpoint.state.ended == Ending::seconds);
  for (const bool stop : {false, true}) {  // in its plan
    const auto resumed = timed_run(checkpoint.config, clock, in_folder(path()));
    resumed->trainer.resume_from(checkpoint);
    resumed->recorder->stop = stop;
    CHECK(resumed->trainer.run() == Ending::seconds);
    CHECK(resumed->recorder->steps.empty());
  }
}

TEST_CASE("a machine that turns slow or fast within the run uses its seconds all the same", "[seconds][simulated]") {
  for (const auto& [slower, from] : {std::pair{0.33, 350}, {3.0, 10}, {3.0, 650}}) {
    INFO(slower << " times slower from step " << from);
    const TestFolder folder;
    const auto clock = std::make_shared<FakeClock>();
    clock->slower = [slower = slower, from = from](const WorkEvent& event) { return event.step >= from ? slower : 1; };
    const auto run = timed_run(timed_config(30), clock, in_folder(folder.path()));
    CHECK(run->trainer.run() == Ending::seconds);
    check_used(*run, clock->seconds - 1000);
  }
}

TEST_CASE("evaluations score the same windows up to the end, however long they take", "[seconds]") {
  const auto clock = std::make_shared<FakeClock>();
  clock->slower = [](const WorkEvent& event) { return event.what == "evaluating" ? 3 : 1; };
  const auto run = timed_run(timed_config(60), clock, {}, small_corpus(formula_text(500'000)));
  CHECK(run->trainer.run() == Ending::seconds);
  CHECK(clock->seconds - 1000 < 60);
  CHECK(run->trainer.state().val_windows == 32'768 / 8);
  for (const EvalEvent& each : run->recorder->evaluations) CHECK_FALSE(each.exact);
}

TEST_CASE("a run killed in any phase keeps its shares, and they repeat its bits", "[seconds][simulated]") {
  for (const std::int64_t killed : {150, 250, 450, 1'000'000}) {  // in warm-up, before the decay, in it, at the end
    INFO("killed after step " << killed);
    const TestFolder folder;
    const auto clock = std::make_shared<FakeClock>();
    ResolvedConfig config = timed_config(30);
    config.config.train.keep = 100;
    config.config.train.warmup_iters = 200;
    config.config.train.lr_schedule = LrSchedule::wsd;
    config.config.train.wsd_decay_fraction = 0.6;
    config.config.eval.eval_interval = 100;
    {
      const auto run = timed_run(config, clock, in_folder(folder.path()));
      clock->slower = [&, recorder = run->recorder](const WorkEvent& event) {
        if (event.step >= killed) recorder->stop = true;
        return 1;
      };
      run->trainer.run();
      clock->slower = nullptr;
    }
    // A killed run has nothing but its checkpoints of before; the time since the last of them is not known to it.
    std::vector<std::filesystem::path> checkpoints = list_checkpoints(folder.path());
    if (killed < 1'000'000)
      std::erase_if(checkpoints, [&](const auto& path) { return load_checkpoint(path, "last").state.step % 100 != 0; });
    REQUIRE_FALSE(checkpoints.empty());
    const Checkpoint checkpoint = load_checkpoint(std::ranges::max(checkpoints), "last", true);
    const auto run = timed_run(checkpoint.config, clock, in_folder(folder.path()));
    run->trainer.resume_from(checkpoint);
    CHECK(run->trainer.run() == Ending::seconds);
    if (killed < 1'000'000) check_used(*run, run->trainer.seconds());
    CHECK(run->recorder->steps.empty() == (killed == 1'000'000));
    const std::vector<float>&shares = run->trainer.state().shares, &before = checkpoint.state.shares;
    CHECK(std::ranges::equal(before, std::span(shares).first(before.size())));
    TrainerOptions replayed;
    replayed.replayed_shares = shares;
    const auto again = timed_run(config, std::make_shared<FakeClock>(), replayed);
    CHECK(again->trainer.run() == Ending::seconds);
    check_equal_bits(again->trainer.arena(), run->trainer.arena());
  }
}

TEST_CASE("a run stops after the last step that it is given, step 0 too, and saves there") {
  for (const std::int64_t last : {0, 7}) {
    const TestFolder folder;
    TrainerOptions options = in_folder(folder.path());
    options.last_step = last;
    CHECK(EndedRun(small_config(), options).ending == Ending::stopped);
    CHECK(last_checkpoint(folder.path()).state.step == last);
  }
}

TEST_CASE_METHOD(TestFolder, "more seconds than a run had let it go on, at a higher rate again", "[seconds]") {
  const auto clock = std::make_shared<FakeClock>();
  timed_run(timed_config(30), clock, in_folder(path()))->trainer.run();
  ResolvedConfig longer = last_checkpoint(path()).config;
  longer.config.train.max_seconds = 60;
  const auto more = timed_run(longer, clock, in_folder(path()));
  more->trainer.resume_from(last_checkpoint(path()));
  CHECK(more->trainer.run() == Ending::seconds);
  CHECK(more->recorder->steps.front().lr > 5e-3);
  CHECK(more->recorder->steps.size() > 100);
  CHECK(more->recorder->evaluations.size() > 3);
  CHECK(last_checkpoint(path()).state.shares == more->trainer.state().shares);
  check_used(*more, more->trainer.seconds());
}

TEST_CASE_METHOD(TestFolder, "where max_seconds end before the first update one is made") {
  const auto clock = std::make_shared<FakeClock>();
  TrainerOptions options = in_folder(path());
  options.process_started = clock->seconds - 20;
  const auto run = timed_run(timed_config(10), clock, options);
  run->trainer.run();
  CHECK(run->trainer.state().step == 1);
  CHECK(run->recorder->noticed("train.warmup_iters = 2 is not below the run's 1 step"));
}

TEST_CASE("a text that the seconds read too often is named before training") {
  ResolvedConfig config = timed_config(3600);
  config.config.model.n_embd = 32;
  const auto run = timed_run(config, std::make_shared<FakeClock>());
  const PlanEvent plan = run->trainer.plan(false);
  CHECK(plan.epochs > 100);
  CHECK(any_has(plan.notices, "this run reads its 1,080 tokens "));
}

TEST_CASE_METHOD(TestFolder, "what may take long tells how far it has come") {
  EndedRun run(large_steps(), path());
  CHECK(run.recorder->works == std::set<std::string>{"evaluating", "sampling", "saving", "updating"});
}
