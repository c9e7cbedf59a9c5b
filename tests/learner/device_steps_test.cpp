// Steps that are recorded and repeated, on the CPU, where repeating is doing them again: everything of them but CUDA.
#include "learner/device_steps.h"

#include <torch/types.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "learner/schedule.h"
#include "learner_on_device.h"

#include "test.h"

using namespace chargpt;

namespace {

using Subject = LearnerOnDevice;

void check_like_autograd(const Config& config) {
  Subject reference("autograd", config), device("cuda", config);
  REQUIRE(device.learner.device_steps);
  const std::vector<StepResult> expected = reference.steps(0, 20), got = device.steps(0, 20);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("step " << i);
    CHECK(got[i].loss == Approx(expected[i].loss).epsilon(1e-5));
    CHECK(got[i].grad_norm == Approx(expected[i].grad_norm).epsilon(1e-4));
    CHECK(got[i].updated);
  }
  CHECK(device.learner.arena.updates() == 20);
  CHECK(relative_difference(state_of(reference.learner), state_of(device.learner)) < 1e-4);
  CHECK(device.learner.take_notice().empty());
}

/// A recording that leaves everything as it is.
struct Nothing : RecordedWork {
  void repeat() override {}
};

}  // namespace

TEST_CASE("recorded steps have autograd's losses, weights, moments and averages") {
  check_like_autograd(config_of_all());
}

TEST_CASE("so they have without clipping, dropout, averages and groups") {
  Config config = config_of_all();
  config.model.dropout = 0;
  config.train.grad_clip = 0;
  config.train.ema = 0;
  config.train.groups.clear();
  config.train.gradient_accumulation_steps = 1;
  check_like_autograd(config);
}

TEST_CASE("so they have with rotary positions, convolutions and a head of its own") {
  Config config = config_of_all();
  config.model.position = Position::rope;
  config.model.norm = Norm::rmsnorm;
  config.model.qk_norm = true;
  config.model.tie_weights = false;
  config.model.conv_places = {Place::mlp};
  check_like_autograd(config);
}

TEST_CASE("how many steps are taken in one call changes no bit") {
  Subject together("cuda"), apart("cuda");
  std::vector<double> factors;
  for (std::int64_t i = 0; i < 8; ++i) factors.push_back(learning_rate_factor(together.config.train, i));
  const std::vector<double> losses = losses_of(together.at_once(factors));
  std::vector<StepResult> one_by_one;
  for (std::int64_t i = 0; i < 8; ++i) one_by_one.push_back(apart.learner.make_step(i, i + 1, {}));
  CHECK(losses == losses_of(one_by_one));
  CHECK(torch::equal(state_of(together.learner), state_of(apart.learner)));
}

TEST_CASE("a learner makes steps ahead, up to where it is told, and drops them when it goes back") {
  Subject ahead("cuda"), plain("cuda");
  ahead.steps(0, 4);
  plain.steps(0, 4);
  const LearnerSnapshot snapshot = ahead.learner.snapshot();
  const torch::Tensor state = state_of(ahead.learner);
  ahead.learner.make_step(4, 9, {});
  REQUIRE(ahead.learner.steps_ahead() > 0);
  CHECK(ahead.learner.steps_ahead() <= 4);
  CHECK(ahead.learner.arena.updates() == 5 + ahead.learner.steps_ahead());
  ahead.learner.restore(snapshot);
  CHECK(ahead.learner.steps_ahead() == 0);
  CHECK(torch::equal(state_of(ahead.learner), state));
  CHECK(losses_of(ahead.steps(5, 3)) == losses_of(plain.steps(5, 3)));
  CHECK(torch::equal(state_of(ahead.learner), state_of(plain.learner)));
}

TEST_CASE("steps end after one that is not finite, which changes nothing and leaves its gradients") {
  Subject good("cuda"), bad("cuda");
  const std::vector<StepResult> before = good.at_once({1, 1, 1e30});
  const torch::Tensor state = state_of(good.learner);
  const std::vector<StepResult> results = bad.at_once({1, 1, 1e30, 1, 1, 1});
  REQUIRE(results.size() == 4);
  CHECK(losses_of({results.begin(), results.begin() + 3}) == losses_of(before));
  CHECK(results[2].updated);
  CHECK_FALSE(results[3].updated);
  CHECK_FALSE((std::isfinite(results[3].loss) && std::isfinite(results[3].grad_norm)));
  CHECK(bad.learner.arena.updates() == 3);
  CHECK(at::equal(state_of(bad.learner).nan_to_num(), state.nan_to_num()));
  CHECK_FALSE(std::isfinite(bad.learner.arena.gradient_norm().item<double>()));
}

TEST_CASE("what was recorded is used only where it does what the step does") {
  Subject right("cuda"), wrong("cuda");
  const std::vector<double> factors(5, 1.0);
  const std::vector<double> losses = losses_of(right.at_once(factors));
  CHECK(losses_of(wrong.at_once(factors, [](const torch::Device&, const std::function<void()>&) {
          return std::make_unique<Nothing>();
        })) == losses);
  CHECK(wrong.steps_here->take_notice().starts_with("steps are launched one by one: what was recorded"));
  CHECK(wrong.steps_here->take_notice().empty());
  CHECK(torch::equal(state_of(wrong.learner), state_of(right.learner)));
}

TEST_CASE("a step that cannot be recorded is taken all the same, with a notice") {
  Subject right("cuda"), other("cuda");
  const std::vector<double> factors(5, 1.0);
  const std::vector<double> losses = losses_of(right.at_once(factors));
  CHECK(losses_of(other.at_once(factors, [](const torch::Device&, const std::function<void()>& work) {
          work();  // and fails in the midst of it
          throw Error(ExitCode::unavailable, "no such thing");
          return std::unique_ptr<RecordedWork>();
        })) == losses);
  CHECK(other.steps_here->take_notice() ==
        "steps are launched one by one, since one could not be recorded: no such thing");
  CHECK(torch::equal(state_of(other.learner), state_of(right.learner)));
}

TEST_CASE("buffers that are made anew are recorded anew") {
  Subject again("cuda"), once("cuda");
  int recordings = 0;
  const auto counting = [&recordings](const torch::Device& device, const std::function<void()>& work) {
    ++recordings;
    return record(device, work);
  };
  const LearnerSnapshot untrained = again.learner.snapshot();  // without moments
  again.at_once({1, 1}, counting);
  CHECK(recordings == 1);
  again.learner.restore(untrained);
  const WindowBatch windows = again.learner.batches.micro_batches(again.starts).front();
  const StepWindows two{windows.tokens, windows.T, windows.B(), 2, again.starts};
  const std::vector<double> factors(2, 1.0);
  again.steps_here->take(0, factors, two);
  CHECK(recordings == 2);
  again.steps_here->take(0, factors, two);
  CHECK(recordings == 2);
  again.learner.restore(untrained);
  again.steps_here->take(0, factors, two);
  once.at_once({1, 1});
  CHECK(torch::equal(state_of(again.learner), state_of(once.learner)));
}

TEST_CASE("a table that is updated by rows has no recorded steps") {
  Config config = config_of_all();
  config.model.ngram_orders = {2};
  config.model.ngram_rows = {60};
  config.train.groups = {
      {.match = "ngram", .learning_rate = 1e-2, .weight_decay = 0, .optimizer = UpdateRule::sparse_adam}};
  Subject tables("cuda", config), reference("autograd", config);
  CHECK_FALSE(tables.learner.device_steps);
  const std::vector<StepResult> expected = reference.steps(0, 5), got = tables.steps(0, 5);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(got[i].loss == Approx(expected[i].loss).epsilon(1e-5));
}

TEST_CASE("a recorded evaluation has autograd's losses, whatever the number of windows") {
  Subject reference("autograd"), device("cuda");
  device.steps(0, 2);
  reference.learner.restore(reference.learner.snapshot());
  reference.steps(0, 2);
  const TokenView text = device.text.train(), other = device.text.val();
  for (const auto& [tokens, starts] :
       std::vector<std::pair<TokenView, std::vector<std::int64_t>>>{{text, {0, 8, 16, 300}},
                                                                    {text, {5, 900}},
                                                                    {other, {1, 2, 3}},
                                                                    {text, {0, 1, 2, 3, 4, 5, 6}},
                                                                    {other, {9}}}) {
    const WindowBatch windows{.tokens = tokens, .starts = starts, .T = 8};
    std::vector<float> expected(static_cast<std::size_t>(windows.numel())), got(expected.size());
    reference.learner.engine->score(windows, expected);
    device.learner.engine->score(windows, got);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(2e-5));
  }
}
