// Runs of train.max_seconds on a machine made up: how fast it is, second by second, is told, and when it ends is
// checked.
#include "train/time_budget.h"

#include <functional>

#include "base/random.h"
#include "train/learner.h"

#include "test.h"

using namespace chargpt;

namespace {

/// How many times slower than usual it is at a time.
using Machine = std::function<double(double now)>;

struct Speeds {
  double step = 0.01, evaluation = 0.3, save = 0.02, start = 0.5;
  double guess = 0.01;  ///< of a step, before the first
};

struct Outcome {
  Config config;
  std::int64_t steps = 0, evaluations = 0;
  double seconds = 0;
  bool cut = false;
  double share() const { return seconds / config.train.max_seconds; }
  std::size_t revisions() const { return config.train.decay_steps.size() / 2 - 1; }
};

Config config_of(double seconds, std::int64_t eval_interval = 250) {
  Config config;
  config.train = {
      .max_iters = 0, .max_seconds = seconds, .min_lr = 0, .lr_schedule = LrSchedule::linear, .warmup_iters = 20};
  config.eval.eval_interval = eval_interval;
  return config;
}

/// One process of a run, from `begun` on, as the trainer would have it.
Outcome train(Outcome run, const Machine& slower, const Speeds& speeds, std::int64_t stop_after = -1) {
  double now = run.seconds + speeds.start;
  Integers& plan = run.config.train.decay_steps;
  TimeBudget budget(run.config, std::int64_t{1} << 40);
  const auto spend = [&](double seconds, double most = 1e9) {
    const double spent = std::min(seconds * slower(now), std::max(0.0, most));
    now += spent;
    return spent;
  };
  const auto evaluate = [&](bool last) {  // of a part of the windows where all would take too long
    budget.follow(&ClosingSeconds::evaluation, spend(speeds.evaluation, budget.seconds_for_evaluation(last)), now);
    budget.follow(&ClosingSeconds::save, spend(speeds.save), now);
    ++run.evaluations;
  };
  budget.expect(speeds.guess, {.evaluation = speeds.evaluation}, now);
  budget.revise(plan, run.steps);
  if (run.steps == 0) evaluate(false);
  while (run.steps < plan.back() && !budget.cut() && run.steps != stop_after) {
    spend(speeds.step * (run.steps == 0 ? 4 : 1));
    budget.follow_step(now);
    budget.revise(plan, ++run.steps);
    const bool over = run.steps >= plan.back() || budget.cut();
    if (run.steps % run.config.eval.eval_interval == 0 && !over && budget.has_time_on_the_way(plan.back() - run.steps))
      evaluate(false);
  }
  if (run.steps != stop_after) evaluate(true);
  run.seconds = now;
  run.cut = budget.cut();
  return run;
}

Outcome train(double seconds, const Machine& slower, const Speeds& speeds = {}, std::int64_t eval_interval = 250) {
  return train({.config = config_of(seconds, eval_interval)}, slower, speeds);
}

double quiet(double) {
  return 1;
}

/// Three times slower in the part of the run from `from` to `to`.
Machine busy(double seconds, double from, double to) {
  return [=](double now) { return now >= from * seconds && now < to * seconds ? 3.0 : 1.0; };
}

/// Three times slower in random thirds of its periods.
Machine busy_at_random(double period, std::uint64_t seed) {
  return [=](double now) {
    return RandomStream(seed, Purpose::windows, static_cast<std::uint64_t>(now / period)).uniform() < 1.0 / 3 ? 3.0
                                                                                                              : 1.0;
  };
}

void check_in_time(const Outcome& run) {
  INFO("share " << run.share() << " of " << run.config.train.max_seconds << " s, " << run.steps << " steps, "
                << run.revisions() << " revisions");
  CHECK(run.share() >= 0.93);
  CHECK(run.share() <= 1.0);
  CHECK_FALSE(run.cut);
  CHECK(run.steps == run.config.train.decay_steps.back());
  CHECK(learning_rate_at(run.config.train, run.steps - 1) < 0.1 * run.config.train.learning_rate);
  CHECK(run.revisions() < 60);
}

}  // namespace

TEST_CASE("a quiet machine uses its seconds, and the rate falls over the last part of the steps") {
  for (const double seconds : {10.0, 60.0, 300.0}) {
    const Outcome run = train(seconds, quiet);
    check_in_time(run);
    const Integers& plan = run.config.train.decay_steps;
    CHECK(static_cast<double>(plan[0]) / static_cast<double>(run.steps) == Approx(0.2).margin(0.02));
    CHECK(run.evaluations >= run.steps / 250);
  }
}

TEST_CASE("a machine that is busy in the first, the last or random thirds ends in time, its rate come down") {
  for (const double seconds : {10.0, 60.0, 300.0}) {
    check_in_time(train(seconds, busy(seconds, 0, 1.0 / 3)));
    check_in_time(train(seconds, busy(seconds, 2.0 / 3, 1)));
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (const double period : {0.01, 0.1, 0.7, 5.0}) {
        INFO("seed " << seed << ", period " << period);
        check_in_time(train(seconds, busy_at_random(period * seconds / 60, seed)));
      }
  }
}

TEST_CASE("a machine that slows down or speeds up three times in the decay still ends in time") {
  for (const double seconds : {10.0, 60.0, 300.0})
    for (const double from : {0.5, 0.7, 0.8, 0.9, 0.95, 0.97}) {
      INFO("from " << from);
      check_in_time(train(seconds, busy(seconds, from, 2)));
      check_in_time(train(seconds, busy(seconds, 0, from)));
    }
}

TEST_CASE("twenty busy neighbours that come at any moment delay the end by no more than one step") {
  constexpr double slower = 11;  // on two cores
  for (const double seconds : {20.0, 60.0})
    for (int percent = 10; percent < 100; ++percent) {
      const double from = percent / 100.0 * seconds;
      const Speeds speeds{.evaluation = 0.01 * seconds, .save = 0.0005 * seconds};
      const Outcome run = train(
          seconds, [=](double now) { return now < from ? 1.0 : slower; }, speeds);
      INFO("from " << percent << " % of " << seconds << " s: " << run.seconds << " s");
      CHECK(run.seconds <= seconds + slower * speeds.step);
      CHECK(run.share() >= 0.93);
    }
}

TEST_CASE("the guess before the first step may be wrong in either direction") {
  for (const double guess : {0.0001, 0.001, 0.1, 1.0, 100.0}) {
    INFO("guess " << guess);
    check_in_time(train(10, quiet, {.guess = guess}));
    check_in_time(train(60, busy(60, 0, 0.3), {.guess = guess}));
  }
}

TEST_CASE("evaluations that are frequent or slow take no more than is left") {
  for (const double evaluation : {0.01, 0.3, 3.0})
    for (const std::int64_t interval : {10, 97, 1000, 1'000'000}) {
      INFO("an evaluation of " << evaluation << " s every " << interval << " steps");
      check_in_time(train(60, quiet, {.evaluation = evaluation}, interval));
      check_in_time(train(60, busy(60, 0.66, 1), {.evaluation = evaluation}, interval));
    }
}

TEST_CASE("long steps are never late by more than one") {
  for (const double step : {0.3, 0.7, 1.1, 2.3, 4.9, 9.0, 50.0})
    for (const Machine& machine : {Machine(quiet), busy(10, 0.5, 1), busy(10, 0, 0.5)}) {
      const Outcome run = train(10, machine, {.step = step, .evaluation = 0.1, .guess = step});
      INFO("steps of " << step << " s: " << run.seconds << " s, " << run.steps << " steps");
      CHECK(run.steps >= 1);
      CHECK(run.seconds < 10 + (run.steps == 1 ? 4 : 1) * 3 * step);  // the first is cold
    }
}

TEST_CASE("where the time is over before the first step one is made, and the plan says so") {
  const Outcome run = train(0.1, quiet);
  CHECK(run.steps == 1);
  CHECK(run.config.train.decay_steps.back() == 1);
}

TEST_CASE("a long text and a first evaluation that seemed to take all the time leave the rest to train in") {
  const Outcome run = train(30, quiet, {.step = 0.1, .evaluation = 20, .start = 17, .guess = 0.1});
  CHECK(run.share() >= 0.93);
  CHECK(run.share() <= 1.0);
  CHECK(run.steps > 50);
  CHECK(learning_rate_at(run.config.train, 5) == run.config.train.learning_rate * 6 / 21);  // warm-up, not decay
}

TEST_CASE("other limits end the run before the seconds do, its rate come down") {
  Config config = config_of(60);
  TimeBudget budget(config, 100);
  Integers plan{1000, 1000};
  budget.expect(0.01, {}, 0.5);
  double now = 0.5;
  for (std::int64_t step = 0; step < 100; ++step) {
    budget.revise(plan, step);
    CHECK(plan.back() == 100);
    budget.follow_step(now += 0.01);
  }
  CHECK(plan == Integers{20, 100});
}

TEST_CASE("the config's schedule gives the form: constant holds, wsd has its own fraction, warm-up comes first") {
  Config config = config_of(60);
  const auto plan_of = [&config] {
    Integers plan;
    TimeBudget budget(config, 1000);
    budget.expect(0.01, {}, 0);
    budget.revise(plan, 0);
    return plan;
  };
  CHECK(plan_of() == Integers{200, 1000});
  config.train.warmup_iters = 700;
  CHECK(plan_of() == Integers{700, 1000});
  config.train.lr_schedule = LrSchedule::wsd;
  config.train.warmup_iters = 20;
  CHECK(plan_of() == Integers{800, 1000});
  config.train.lr_schedule = LrSchedule::constant;
  CHECK(plan_of() == Integers{1000, 1000});
}

TEST_CASE("an evaluation on the way has time where the steps to come and the last one have theirs too") {
  const Config config = config_of(100);
  TimeBudget budget(config, 1000);
  budget.expect(1, {.evaluation = 10}, 0);  // of 99 s
  CHECK(budget.has_time_on_the_way(78));
  CHECK_FALSE(budget.has_time_on_the_way(80));
}

TEST_CASE("a save is expected to take as long as the last one, however much faster steps have become since") {
  const Config config = config_of(100);
  TimeBudget budget(config, 1000);
  budget.expect(1, {}, 0);
  for (const double now : {1, 2, 3}) budget.follow_step(now);
  budget.follow(&ClosingSeconds::save, 5, 8);
  for (int step = 1; step <= 100; ++step) budget.follow_step(8 + 0.1 * step);
  CHECK(budget.seconds_for_evaluation(/*last=*/true) == Approx(99 - 18 - 5));
}

TEST_CASE("a run killed in any phase goes on within its seconds, at the rates decided before") {
  const Outcome whole = train(60, quiet);
  for (const double part : {0.001, 0.1, 0.19, 0.21, 0.6, 0.9, 0.99, 1.0}) {
    const auto stop = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(whole.steps)));
    INFO("killed after step " << stop << " of " << whole.steps);
    Outcome run = train({.config = config_of(60)}, quiet, {}, stop);
    const TrainConfig before = run.config.train;
    run = train(run, quiet, {});
    CHECK(run.share() <= 1.0);
    if (part < 1) check_in_time(run);
    for (std::int64_t step = 0; step < stop; ++step)
      REQUIRE(learning_rate_at(run.config.train, step) == learning_rate_at(before, step));
    // Once the decay has begun, a start of 0.5 s is worth no revision: the same steps, the same rates.
    if (part > 0.2)
      for (std::int64_t step = 0; step < whole.steps; ++step)
        REQUIRE(learning_rate_at(run.config.train, step) == learning_rate_at(whole.config.train, step));
  }
}

TEST_CASE("the rates that a run had are those of the plan it ends with, whatever was revised after them") {
  for (const Machine& machine : {Machine(quiet), busy(10, 0, 0.33), busy(10, 0.66, 1), busy_at_random(0.3, 7)}) {
    const Speeds speeds{.start = 0.0001};
    Outcome run{.config = config_of(10)};
    std::vector<double> rates;
    for (std::int64_t stop = 1; run.steps == stop - 1; ++stop) {
      run = train(run, machine, speeds, stop);
      rates.push_back(learning_rate_at(run.config.train, stop - 1));
    }
    CHECK(rates.size() > 100);
    for (std::size_t step = 0; step < rates.size(); ++step)
      REQUIRE(learning_rate_at(run.config.train, static_cast<std::int64_t>(step)) == rates[step]);
  }
}
