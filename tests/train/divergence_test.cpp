// Runs that diverge end with a diagnosis.
#include "train/divergence.h"

#include <algorithm>

#include "failure.h"
#include "small_run.h"

using namespace chargpt;

namespace {

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
  CHECK_THAT(said_when_poisoned(path(), 7),
             Catch::StartsWith("training diverged; lower train.learning_rate = ") &&
                 Catch::Contains(": step 8 has loss nan and gradient norm nan (its windows start at ") &&
                 Catch::Contains(kept));
  CHECK_THAT(said_when_poisoned(path(), 10), Catch::Contains(": the validation loss after 10 steps is nan" + kept));
  CHECK_THAT(said_when_poisoned(path(), 8, 8), Catch::Contains(": after 8 steps some weights are not finite" + kept));
  CHECK(last_checkpoint(path()).state.step == 5);
}

TEST_CASE("gradient norms are named worst first") {
  SmallRun run(small_config());
  run.trainer.step();
  ParameterArena& arena = run.trainer.arena();
  std::ranges::fill(arena.gradients.all(), 0.0F);
  const std::vector<Parameter>& parameters = arena.parameters();
  const auto put = [&](std::size_t index, float a, float b) {
    const std::span<float> gradients = parameters[index].in(arena.gradients.data());
    gradients[0] = a;
    gradients[1] = b;
  };
  put(0, 3, 4);
  put(1, std::nanf(""), 0);
  put(2, 3e30F, 4e30F);  // its square is beyond float
  CHECK(diagnosis({12, 99}, arena) ==
        "its windows start at 12, 99 of the train split; largest gradient norms: " + parameters[1].name + " nan, " +
            parameters[2].name + " 5e+30, " + parameters[0].name + " 5, " + parameters[3].name + " 0");
}

TEST_CASE("of more than sixteen windows a diagnosis names the first, and says how many there are") {
  SmallRun run(small_config());
  run.trainer.step();
  std::vector<std::int64_t> starts(16, 7);
  CHECK_THAT(diagnosis(starts, run.trainer.arena()), Catch::Contains(" 7, 7 of the train split"));
  starts.push_back(8);
  CHECK_THAT(diagnosis(starts, run.trainer.arena()), Catch::Contains(" 7, 7, … (17 in all) of the train split"));
}
