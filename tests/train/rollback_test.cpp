// train.on_nonfinite = rollback: what goes wrong is undone, and a resumed run undoes the same.

#include <numeric>

#include "failure.h"
#include "small_run.h"
#include "train/nonfinite.h"

using namespace chargpt;

namespace {

/// 30 updates, evaluated every 6, that nothing goes wrong with.
ResolvedConfig careful_config() {
  ResolvedConfig config = small_config();
  config.config.train.on_nonfinite = OnNonfinite::rollback;
  config.config.train.max_iters = 30;
  config.config.train.lr_decay_iters = 30;
  config.config.eval = {.eval_interval = 6, .sample_tokens = 0};
  return config;
}

/// The same without normalisation and at a rate at which the loss jumps and overflows.
ResolvedConfig reckless_config() {
  ResolvedConfig config = careful_config();
  config.config.model.norm = Norm::none;
  config.config.model.final_norm = false;
  config.config.train.learning_rate = 30;
  config.config.train.grad_clip = 0;
  config.config.train.max_iters = 400;
  return config;
}

std::vector<float> weights(Trainer& trainer) {
  const std::span<float> values = trainer.arena().groups()[0].values.all();
  return {values.begin(), values.end()};
}

struct PoisonedRun : SmallRun {
  PoisonedRun(const ResolvedConfig& config, const std::filesystem::path& folder, const std::vector<std::int64_t>& steps)
      : SmallRun(config, folder) {
    poison_after(trainer, steps);
  }
};

LossTrend after(std::initializer_list<double> losses) {
  LossTrend trend;
  for (const double loss : losses) trend = followed_by(trend, loss);
  return trend;
}

LossTrend after_many(int count, double loss) {
  LossTrend trend;
  for (int i = 0; i < count; ++i) trend = followed_by(trend, loss);
  return trend;
}

}  // namespace

TEST_CASE("an update that is not finite goes back to the weights and moments of the last evaluation") {
  SmallRun run(careful_config());
  const std::vector<float> untrained = weights(run.trainer);
  const LossTrend trend = run.trainer.state().trend;
  for (int i = 0; i < 3; ++i) run.trainer.step();
  CHECK(weights(run.trainer) != untrained);
  CHECK(run.trainer.state().trend.count == trend.count + 3);
  poison(run.trainer);
  const StepEvent event = run.trainer.step();
  CHECK(std::isnan(event.loss));
  CHECK(event.step == 4);
  CHECK(weights(run.trainer) == untrained);
  CHECK(run.trainer.state().trend.count == trend.count);
  CHECK(run.trainer.arena().updates() == 0);
  CHECK(run.trainer.state().rollbacks == 1);
  CHECK(run.trainer.state().rollback_step == 0);
  CHECK(run.recorder->noticed("step 4 has loss nan"));
  CHECK(run.recorder->noticed(": going back to the weights and moments of step 0"));
}

TEST_CASE_METHOD(TestFolder, "a run that is rolled back goes on to its end, and its windows are those of the step") {
  PoisonedRun run(careful_config(), path(), {14});
  CHECK(run.trainer.run() == Ending::finished);
  EndedRun undisturbed(careful_config());
  const std::vector<double> losses = run.recorder->losses(), others = undisturbed.recorder->losses();
  REQUIRE(losses.size() == 30);
  CHECK(std::equal(losses.begin(), losses.begin() + 14, others.begin()));
  CHECK(std::isnan(losses[14]));
  CHECK(losses[15] != others[15]);  // the windows of step 15 on the weights of step 12
  CHECK(std::all_of(losses.begin() + 15, losses.end(), [](double loss) { return std::isfinite(loss); }));
  CHECK(last_checkpoint(path()).state.rollbacks == 1);
  CHECK(run.recorder->evaluations.back().val_loss < run.recorder->evaluations.front().val_loss);
}

TEST_CASE_METHOD(TestFolder, "weights that an evaluation finds not finite go back too, and are not saved") {
  PoisonedRun run(careful_config(), path(), {12, 13});
  CHECK(run.trainer.run() == Ending::finished);
  CHECK(run.recorder->noticed("the validation loss after 12 steps is "));
  CHECK(run.recorder->noticed(": going back to the weights and moments of step 6"));
  for (const EvalEvent& event : run.recorder->evaluations) CHECK(std::isfinite(event.val_loss));
  CHECK(run.trainer.state().rollbacks == 2);
  CHECK(last_checkpoint(path()).state.step == 30);
}

TEST_CASE("ten returns in a row are the end, to one moment or with an evaluation after each") {
  std::vector<std::int64_t> steps(30);
  std::iota(steps.begin(), steps.end(), 1);
  for (const auto& [eval_interval, since] : {std::pair{100, "0"}, {1, "9"}}) {
    ResolvedConfig config = careful_config();
    config.config.eval.eval_interval = eval_interval;
    PoisonedRun run(config, {}, steps);
    CHECK_THAT(message_of(ExitCode::diverged, [&] { run.trainer.run(); }),
               Catch::Contains("the 10th time in a row since step " + std::string(since) + ";"));
    CHECK(run.trainer.state().rollbacks == 9);
  }
}

TEST_CASE("returns with a good step between them are not in a row, however many") {
  ResolvedConfig config = careful_config();
  config.config.train.max_iters = 36;
  config.config.eval.eval_interval = 3;
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1; step < 36; step += 3) steps.push_back(step);
  PoisonedRun run(config, {}, steps);
  CHECK(run.trainer.run() == Ending::finished);
  CHECK(run.trainer.state().rollbacks == 12);
}

TEST_CASE("a loss spike is undone where rollback is the policy, and only told where it is not") {
  for (const OnNonfinite policy : {OnNonfinite::rollback, OnNonfinite::skip, OnNonfinite::stop}) {
    ResolvedConfig config = careful_config();
    config.config.train.on_nonfinite = policy;
    SmallRun run(config);
    for (int i = 0; i < 25; ++i) run.trainer.step();
    for (ParameterGroup& group : run.trainer.arena().groups())
      for (float& value : group.values.all()) value *= 40;
    const StepEvent event = run.trainer.step();
    INFO(enum_name(policy) << ": loss " << event.loss);
    REQUIRE(event.loss > 5);
    CHECK(run.trainer.state().rollbacks == (policy == OnNonfinite::rollback ? 1 : 0));
    CHECK(run.recorder->noticed("loss spike: step 26") == (policy != OnNonfinite::rollback));
  }
}

namespace {

/// Stops at several steps, goes on in a new trainer, and compares with a run that was not stopped.
void check_resumes_exactly(const ResolvedConfig& config) {
  SmallRun whole(config);
  const std::string end = error_of([&] { whole.trainer.run(); }).line;
  REQUIRE(whole.trainer.state().rollbacks > 2);
  const std::int64_t last = whole.trainer.state().step;
  for (const std::int64_t stop_at : {last - 1, last / 2, last / 3}) {
    INFO("stopped at " << stop_at << " of " << last << "; " << end);
    const TestFolder folder;
    StoppedRun first(config, folder.path(), stop_at);
    ResumedRun second(config, folder.path());
    const ExitCode code = error_of([&] { second.trainer.run(); }).code;
    CHECK((code == ExitCode::ok || code == ExitCode::diverged));
    CHECK_FALSE(second.recorder->noticed("not bit-exact"));
    const std::vector<double> losses = joined_rows(first.recorder->losses(), second.recorder->losses());
    const std::vector<double> expected = whole.recorder->losses();
    REQUIRE(losses.size() == expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
      CHECK((losses[i] == expected[i] || (std::isnan(losses[i]) && std::isnan(expected[i]))));
    for (std::size_t i = 0; i < whole.trainer.arena().groups().size(); ++i)
      CHECK(equal(second.trainer.arena().groups()[i].values, whole.trainer.arena().groups()[i].values));
    CHECK(second.trainer.state().rollbacks == whole.trainer.state().rollbacks);
  }
}

}  // namespace

TEST_CASE("with rollbacks on the way, a stopped and resumed run is bit for bit the whole one") {
  check_resumes_exactly(reckless_config());
}

TEST_CASE("the same with orthogonal updates of the matrices") {
  ResolvedConfig config = reckless_config();
  config.config.train.groups = {{.match = "h\\.0.*c_fc.weight", .learning_rate = 30, .optimizer = UpdateRule::muon}};
  check_resumes_exactly(config);
}

TEST_CASE_METHOD(TestFolder, "where the checkpoint that a rollback returns to is gone, resuming says so") {
  StoppedRun first(careful_config(), path(), 14);
  const std::vector<std::filesystem::path> kept = list_checkpoints(path());
  REQUIRE(kept.size() == 2);  // of step 14, and of step 12 for a rollback, though train.keep is 1
  std::filesystem::remove_all(kept[0]);
  ResumedRun second(careful_config(), path());
  second.trainer.run();
  CHECK(second.recorder->noticed("not bit-exact from the next rollback on, which will return to step 14"));
}

TEST_CASE("a run that branched off another returns to its own copy of a checkpoint") {
  const TestFolder old, branch;
  StoppedRun first(careful_config(), old.path(), 14);
  ResumedRun second(careful_config(), branch.path(), last_checkpoint(old.path()));
  copy_checkpoints(OpenFolder(old.path()), last_checkpoint(old.path()), second.trainer.config(),
                   OpenFolder(branch.path()));
  REQUIRE(list_checkpoints(branch.path()).size() == 2);
  for (const std::filesystem::path& checkpoint : list_checkpoints(old.path())) std::filesystem::remove_all(checkpoint);
  poison(second.trainer);
  second.trainer.step();
  CHECK(second.recorder->noticed(": going back to the weights and moments of step 12"));
}

TEST_CASE("gradient norms are named worst first") {
  SmallRun run(careful_config());
  run.trainer.step();
  ParameterArena& arena = run.trainer.arena();
  arena.zero_gradients();
  ParameterGroup& group = arena.groups()[0];
  REQUIRE(group.slots.size() >= 3);
  const auto put = [&](std::size_t slot, float a, float b) {
    const std::span<float> gradients = group.slots[slot].in(group.gradients);
    gradients[0] = a;
    gradients[1] = b;
  };
  put(0, 3, 4);
  put(1, std::nanf(""), 0);
  put(2, 3e30F, 4e30F);  // its square is beyond float
  const std::vector<GradientNorm> norms = gradient_norms(arena);
  CHECK(norms[0].name == group.slots[1].name);
  CHECK(std::isnan(norms[0].norm));
  CHECK(norms[1].name == group.slots[2].name);
  CHECK(norms[1].norm == Approx(5e30));
  CHECK(norms[2].norm == Approx(5));
  CHECK(diagnosis({12, 99}, arena) ==
        "its windows start at 12, 99 of the train split; largest gradient norms: " + group.slots[1].name + " nan, " +
            group.slots[2].name + " 5e+30, " + group.slots[0].name + " 5, " + norms[3].name + " 0");
}

TEST_CASE("of more than sixteen windows a diagnosis names the first, and says how many there are") {
  SmallRun run(careful_config());
  run.trainer.step();
  std::vector<std::int64_t> starts(16, 7);
  CHECK_THAT(diagnosis(starts, run.trainer.arena()), Catch::Contains(" 7, 7 of the train split"));
  starts.push_back(8);
  CHECK_THAT(diagnosis(starts, run.trainer.arena()), Catch::Contains(" 7, 7, … (17 in all) of the train split"));
}

// The trend of a loss and its spikes: figures to be checked by hand.

TEST_CASE("at first the trend is mean and variance of all losses") {
  const LossTrend trend = after({1, 2, 3, 6});
  CHECK(trend.mean == Approx(3));
  CHECK(trend.variance == Approx((4 + 1 + 0 + 9) / 4.0));
  CHECK(trend.count == 4);
}

TEST_CASE("after fifty losses each new one counts a fiftieth") {
  const LossTrend trend = followed_by(after_many(50, 2), 7);
  CHECK(trend.mean == Approx(2 + 5 / 50.0));
  CHECK(trend.variance == Approx(49 / 50.0 * 25 / 50));
  CHECK(followed_by(after_many(1000, 2), 7).mean == trend.mean);
}

TEST_CASE("losses that are not finite change nothing") {
  const LossTrend before = after({1, 2});
  for (const double loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const LossTrend trend = followed_by(before, loss);
    CHECK(trend.mean == before.mean);
    CHECK(trend.variance == before.variance);
    CHECK(trend.count == 2);
  }
}

TEST_CASE("a spike is a nat and six deviations above the mean, and unknown before twenty losses") {
  CHECK(spike_threshold(LossTrend{}) == std::numeric_limits<double>::infinity());
  CHECK(spike_threshold(after_many(19, 2)) == std::numeric_limits<double>::infinity());
  CHECK(spike_threshold(after_many(20, 2)) == Approx(3));
  CHECK(spike_threshold({.mean = 2, .variance = 0.01, .count = 20}) == Approx(3));
  CHECK(spike_threshold({.mean = 2, .variance = 0.25, .count = 20}) == Approx(5));
}
