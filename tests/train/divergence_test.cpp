// Runs that diverge end with a diagnosis; loss spikes are noticed.
#include "train/divergence.h"

#include "failure.h"
#include "small_run.h"

using namespace chargpt;

namespace {

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

/// What the run says when its weights become NaN after `step` of 12 steps, evaluated every 5.
std::string said_when_poisoned(const std::filesystem::path& run_folder, std::int64_t step, std::int64_t stop_at = -1) {
  SmallRun run(small_config(), run_folder, stop_at);
  poison_after(run.trainer, {step});
  return message_of(ExitCode::diverged, [&] { run.trainer.run(); });
}

}  // namespace

TEST_CASE_METHOD(TestFolder, "a step, an evaluation and a save of weights that are NaN end the run, and save nothing") {
  const std::string kept =
      "; the last good checkpoint is " + (path() / "checkpoints/step-00000005.safetensors").string();
  CHECK_THAT(said_when_poisoned(path(), 7), Catch::StartsWith("training diverged; lower train.learning_rate = ") &&
                                                Catch::Contains(": step 8 has loss nan after a mean of ") &&
                                                Catch::Contains(" and gradient norm nan (its windows start at ") &&
                                                Catch::Contains(kept));
  CHECK_THAT(said_when_poisoned(path(), 10), Catch::Contains(": the validation loss after 10 steps is nan" + kept));
  CHECK_THAT(said_when_poisoned(path(), 8, 8), Catch::Contains(": after 8 steps some weights are not finite" + kept));
  CHECK(last_checkpoint(path()).state.step == 5);
}

TEST_CASE("of loss spikes the first is a notice; later ones, and the windows and gradients of each, are details") {
  SmallRun run(small_config());
  std::vector<NoticeEvent> notices;
  hear<NoticeEvent>(run.trainer, [&](const NoticeEvent& event) { notices.push_back(event); });
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) run.trainer.step();
  };
  const auto scale_weights = [&](float factor) {
    for (float& value : run.trainer.arena().values.all()) value *= factor;
  };
  steps(25);
  CHECK(notices.empty());
  scale_weights(40);
  steps(1);
  REQUIRE(notices.size() == 2);
  CHECK_THAT(notices[0].line,
             Catch::StartsWith("loss spike: step 26 has loss ") && Catch::Contains(" after a mean of "));
  CHECK_FALSE(notices[0].detail);
  CHECK_THAT(notices[1].line, Catch::StartsWith("step 26: its windows start at "));
  CHECK(notices[1].detail);
  scale_weights(3);
  steps(1);
  REQUIRE(notices.size() == 4);
  CHECK_THAT(notices[2].line, Catch::StartsWith("loss spike: step 27 has loss "));
  CHECK(notices[2].detail);
}

TEST_CASE("gradient norms are named worst first") {
  SmallRun run(small_config());
  run.trainer.step();
  ParameterArena& arena = run.trainer.arena();
  arena.zero_gradients();
  const std::vector<Parameter>& parameters = arena.parameters();
  const auto put = [&](std::size_t index, float a, float b) {
    const std::span<float> gradients = parameters[index].in(arena.gradients.data());
    gradients[0] = a;
    gradients[1] = b;
  };
  put(0, 3, 4);
  put(1, std::nanf(""), 0);
  put(2, 3e30F, 4e30F);  // its square is beyond float
  const std::vector<GradientNorm> norms = gradient_norms(arena);
  CHECK(norms[0].name == parameters[1].name);
  CHECK(std::isnan(norms[0].norm));
  CHECK(norms[1].name == parameters[2].name);
  CHECK(norms[1].norm == Approx(5e30));
  CHECK(norms[2].norm == Approx(5));
  CHECK(diagnosis({12, 99}, arena) ==
        "its windows start at 12, 99 of the train split; largest gradient norms: " + parameters[1].name + " nan, " +
            parameters[2].name + " 5e+30, " + parameters[0].name + " 5, " + norms[3].name + " 0");
}

TEST_CASE("of more than sixteen windows a diagnosis names the first, and says how many there are") {
  SmallRun run(small_config());
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

TEST_CASE("a spike is a nat and six deviations above the mean, and unknown before twenty losses") {
  CHECK(spike_threshold(LossTrend{}) == std::numeric_limits<double>::infinity());
  CHECK(spike_threshold(after_many(19, 2)) == std::numeric_limits<double>::infinity());
  CHECK(spike_threshold(after_many(20, 2)) == Approx(3));
  CHECK(spike_threshold({.mean = 2, .variance = 0.01, .count = 20}) == Approx(3));
  CHECK(spike_threshold({.mean = 2, .variance = 0.25, .count = 20}) == Approx(5));
}
