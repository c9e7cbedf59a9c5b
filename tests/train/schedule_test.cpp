#include "train/schedule.h"

#include "base/error.h"
#include "config/describe.h"
#include "train/plan.h"

#include "test.h"

using namespace chargpt;

namespace {

TrainConfig schedule(LrSchedule shape) {
  return {.max_iters = 2000, .learning_rate = 1e-3, .min_lr = 1e-4, .lr_schedule = shape, .warmup_iters = 100};
}

/// By steps, of a run of max_iters.
double rate_at(const TrainConfig& train, std::int64_t step) {
  return learning_rate_at(train, step, part_of_decay(train, step, train.max_iters));
}

/// Under a clock, after warm-up, which ended when a fifth of the time had passed.
double rate_at_share(const TrainConfig& train, double share) {
  return learning_rate_at(train, train.warmup_iters, part_of_decay(train, share, 0.2));
}

Config limited(std::int64_t iterations, double epochs, double seconds) {
  Config config;
  config.train = {.max_iters = iterations, .max_epochs = epochs, .max_seconds = seconds};
  return config;
}

/// A clock that the test sets, and a run that it times.
struct TimedRun {
  explicit TimedRun(double seconds, std::int64_t iterations = 0, std::vector<float> replayed = {})
      : config(limited(iterations, 0, seconds)), schedule(config, 1000, std::move(replayed), progress, clock) {
    config.train.warmup_iters = 0;
  }
  void update(double took) {
    schedule.look();
    schedule.begin_updates();
    now += took;
    ++progress.step;
    schedule.follow_update(last_update);
    schedule.look();
  }

  Config config;
  double now = 1000, last_update = 0;
  Communicator alone;
  RunClock clock{[this] { return now; }, 0, alone};
  RunProgress progress;
  Schedule schedule;
};

}  // namespace

TEST_CASE("rates of all schedules, by steps") {
  struct Row {
    LrSchedule shape;
    std::int64_t warmup, lr_decay_iters, step;
    double rate;
  };
  using enum LrSchedule;
  const Row rows[] = {
      {cosine, 100, 0, 0, 1e-3 / 101},  // warm-up: (step + 1) / (warmup_iters + 1) of the peak
      {linear, 100, 0, 99, 1e-3 * 100 / 101},
      {constant, 100, 0, 99, 1e-3 * 100 / 101},
      {wsd, 100, 0, 99, 1e-3 * 100 / 101},
      {cosine, 100, 0, 100, 1e-3},
      {cosine, 0, 0, 0, 1e-3},
      {cosine, 100, 0, 575, 1e-4 + 0.85355339059 * 9e-4},  // a quarter: 0.5 (1 + cos(pi / 4))
      {cosine, 100, 0, 1050, (1e-3 + 1e-4) / 2},
      {cosine, 100, 0, 1999, 1e-4 + 6.1516e-10},  // one before the end
      {cosine, 100, 0, 2000, 1e-4},
      {cosine, 100, 0, 1'000'000, 1e-4},
      {cosine, 100, 300, 200, 5.5e-4},
      {cosine, 100, 300, 300, 1e-4},
      {linear, 100, 0, 1050, 5.5e-4},
      {linear, 100, 0, 1999, 1e-4 + 9e-4 / 1900},
      {linear, 100, 0, 2000, 1e-4},
      {constant, 100, 0, 5000, 1e-3},
      {wsd, 100, 0, 1600, 1e-3},  // the last fifth falls
      {wsd, 100, 0, 1800, 5.5e-4},
      {wsd, 100, 0, 2000, 1e-4},
      {wsd, 1900, 0, 1900, 1e-3},
      {wsd, 1900, 0, 1950, 5.5e-4},
      {cosine, 2000, 0, 1999, 1e-3 * 2000 / 2001},  // a warm-up as long as the run or longer divides by nothing
      {cosine, 2000, 0, 2000, 1e-4},
      {cosine, 4000, 0, 3000, 1e-3 * 3001 / 4001},
      {cosine, 4000, 0, 4000, 1e-4}};
  for (const Row& row : rows) {
    INFO(enum_name(row.shape) << ", warm-up " << row.warmup << ", step " << row.step);
    TrainConfig train = schedule(row.shape);
    train.warmup_iters = row.warmup;
    train.lr_decay_iters = row.lr_decay_iters;
    CHECK(rate_at(train, row.step) == Approx(row.rate).epsilon(1e-9));
  }
}

TEST_CASE("under a clock the shape is that of the share of time after warm-up") {
  TrainConfig train = schedule(LrSchedule::linear);
  CHECK(learning_rate_at(train, 99, 0.3) == Approx(1e-3 * 100 / 101));
  CHECK(rate_at_share(train, 0.1) == 1e-3);
  CHECK(rate_at_share(train, 0.6) == Approx(5.5e-4));
  CHECK(rate_at_share(train, 1) == 1e-4);
  train.lr_schedule = LrSchedule::cosine;
  CHECK(rate_at_share(train, 0.4) == Approx(1e-4 + 0.85355339059 * 9e-4));
  train.lr_schedule = LrSchedule::wsd;  // over its last fraction, a fifth
  CHECK(rate_at_share(train, 0.8) == Approx(1e-3));
  CHECK(rate_at_share(train, 0.92) == Approx(5.5e-4));
  train.lr_schedule = LrSchedule::constant;
  CHECK(rate_at_share(train, 0.99) == 1e-3);
}

TEST_CASE("groups follow the schedule as a part of the peak, and its shape alone where the peak is 0") {
  TrainConfig train = schedule(LrSchedule::linear);
  train.warmup_iters = 10;
  train.max_iters = 110;
  for (const std::int64_t step : {0, 5, 10, 50, 109, 110})
    CHECK(learning_rate_factor(train, step, part_of_decay(train, step, train.max_iters)) ==
          rate_at(train, step) / 1e-3);
  train.learning_rate = 0;
  CHECK(rate_at(train, 10) == 0);
  CHECK(learning_rate_factor(train, 0, part_of_decay(train, 0, train.max_iters)) == Approx(1.0 / 11));
  CHECK(learning_rate_factor(train, 10, part_of_decay(train, 10, train.max_iters)) == 1);
  CHECK(learning_rate_factor(train, 60, part_of_decay(train, 60, train.max_iters)) == Approx(0.5));
  CHECK(learning_rate_factor(train, 110, part_of_decay(train, 110, train.max_iters)) == 0);
}

TEST_CASE("max_iters and max_epochs limit the steps, whichever ends first") {
  const std::int64_t tokens = 7 * tokens_per_step(Config());
  CHECK(most_steps(limited(2000, 0, 0), tokens) == 2000);
  CHECK(most_steps(limited(0, 0, 0), tokens) == 0);
  CHECK(most_steps(limited(0, 3, 0), tokens) == 21);
  CHECK(most_steps(limited(2000, 3, 0), tokens) == 21);
  CHECK(most_steps(limited(20, 3, 60), tokens) == 20);
  CHECK_FALSE(most_steps(limited(0, 0, 60), tokens));
}

TEST_CASE("epochs are counted in tokens and rounded up") {
  Config config;
  config.model.block_size = 64;
  config.train = {.batch_size = 12, .gradient_accumulation_steps = 2, .max_epochs = 1};
  CHECK(tokens_per_step(config) == 1536);
  CHECK(steps_of_epochs(config, 1536 * 10) == 10);
  CHECK(steps_of_epochs(config, 1536 * 10 + 1) == 11);
  config.train.max_epochs = 2.5;
  CHECK(steps_of_epochs(config, 1536 * 10) == 25);
  config.train.max_epochs = 1e18;
  CHECK_THROWS_AS(steps_of_epochs(config, 1000), Error);
}

TEST_CASE("the share of a run is that of its time, less its start and what its end will take, or of its steps") {
  TimedRun run(62), either(62, 20);
  for (TimedRun* each : {&run, &either}) {
    each->now += 10;  // before the first update
    each->progress.closing_seconds = 1;
    each->update(5);
    CHECK(each->progress.shares == std::vector<float>{0});
  }
  CHECK(run.schedule.share() == Approx(5 / 50.8));
  CHECK(either.schedule.share() == Approx(5 / 50.8));
  either.update(0);
  either.update(0);
  CHECK(either.schedule.share() == Approx(3.0 / 20));  // more than its time
  run.progress.closing_seconds = 0;
  run.schedule.look();
  CHECK(run.schedule.share() == Approx(5 / 50.8));  // it does not fall
  run.now += 46;
  run.schedule.look();
  CHECK(run.schedule.share() == Approx(51.0 / 52));
  CHECK_FALSE(run.schedule.over());
  run.update(2);
  CHECK(run.schedule.over());
  CHECK(run.progress.shares.size() == 2);
}

TEST_CASE("a run that goes on continues its share, and with more seconds has less of it done") {
  for (const double seconds : {60, 120}) {
    TimedRun run(seconds);
    run.clock.count_on_from(30);  // of which 6 came before the first update
    run.progress = {.step = 2, .setup_seconds = 6, .shares = {0, 0.2F}};
    run.now += 4;
    run.schedule.resume();
    run.update(10);
    CHECK(run.progress.shares == std::vector<float>{0, 0.2F, static_cast<float>(24 / (seconds - 10))});
    CHECK(run.schedule.share() == Approx(34 / (seconds - 10)));
  }
}

TEST_CASE("one update is made, however few the seconds") {
  TimedRun run(5);
  run.now += 20;
  run.schedule.look();
  CHECK_FALSE(run.schedule.over());
  run.update(1);
  CHECK(run.schedule.over());
}

TEST_CASE("shares of another run are replayed, whatever the clock says, and end where they do") {
  TimedRun run(60, 0, {0, 0.25F, 0.5F});
  for (const float share : {0.25F, 0.5F, 1.0F}) {
    CHECK_FALSE(run.schedule.over());
    run.update(100);
    CHECK(run.schedule.share() == share);
  }
  CHECK(run.schedule.over());
  CHECK(run.progress.shares == std::vector<float>{0, 0.25F, 0.5F});
}

TEST_CASE("evaluations come at tenths of the run, by steps or by shares, and at a given interval") {
  const auto due = [](std::int64_t iterations, std::int64_t interval) {
    Config config = limited(iterations, 0, 0);
    config.eval.eval_interval = interval;
    RunProgress progress;
    Communicator alone;
    const RunClock clock({}, 0, alone);
    const Schedule schedule(config, 1000, {}, progress, clock);
    std::vector<std::int64_t> steps;
    for (; progress.step <= iterations; ++progress.step)
      if (schedule.evaluation_due()) steps.push_back(progress.step);
    return steps;
  };
  using Steps = std::vector<std::int64_t>;
  CHECK(due(3000, 0) == Steps{0, 300, 600, 900, 1200, 1500, 1800, 2100, 2400, 2700, 3000});
  CHECK(due(25, 0) == Steps{0, 3, 5, 8, 10, 13, 15, 18, 20, 23, 25});
  CHECK(due(3, 0) == Steps{0, 1, 2, 3});
  CHECK(due(12, 5) == Steps{0, 5, 10});

  for (const double evaluation : {0.5, 10.0}) {  // seconds of a run of 100
    TimedRun run(100);
    double evaluating = 0;
    std::int64_t evaluations = 0;
    while (!run.schedule.over()) {
      run.update(0.1);
      if (!run.schedule.evaluation_due()) continue;
      run.now += evaluation;
      evaluating += evaluation;
      ++evaluations;
    }
    CHECK(evaluations >= (evaluation < 1 ? 9 : 1));
    CHECK(evaluating <= 0.15 * 100);
    TimedRun again(100, 0, run.progress.shares), resumed(100, 0, run.progress.shares);
    resumed.progress = run.progress;
    resumed.progress.step = 3;
    resumed.progress.shares.resize(3);
    resumed.schedule.resume();
    std::int64_t repeated = 0;
    for (; !again.schedule.over(); repeated += again.schedule.evaluation_due() ? 1 : 0) again.update(1);
    CHECK(repeated == evaluations);
    repeated = 0;
    for (; !resumed.schedule.over(); repeated += resumed.schedule.evaluation_due() ? 1 : 0) resumed.update(1);
    CHECK(repeated == evaluations);
  }
}

TEST_CASE("an estimate of memory does not wrap around") {
  Config config;
  config.model = {.n_layer = 1000, .n_embd = 65536, .block_size = 1048576};
  config.train.batch_size = 1048576;
  for (const bool cpu_engine : {false, true})
    for (const std::int64_t threads : {1, 1000})
      CHECK(memory_estimate(config, {.vocab_size = 1114112,
                                     .parameters = std::int64_t{1} << 60,
                                     .threads = threads,
                                     .cpu_engine = cpu_engine}) > std::int64_t{1} << 50);
}

TEST_CASE("what is beyond the memory is refused with what to lower") {
  Config config;
  RunSize run{.vocab_size = 65, .parameters = 1'000'000'000};
  const auto check = [&](double of_estimate) {
    check_memory(config, run,
                 static_cast<std::int64_t>(of_estimate * static_cast<double>(memory_estimate(config, run))));
  };
  CHECK_NOTHROW(check(0.67));
  CHECK_THROWS_WITH(check(0.66), Catch::StartsWith("training needs about 16 GB of memory but only 11 GB"));
  run.threads = 4;
  run.cpu_engine = true;
  CHECK_NOTHROW(check(0.67));
  CHECK_THROWS_WITH(check(0.66), Catch::Contains("; reduce --threads 4, "));
}

TEST_CASE("what a resumed run has changed is named") {
  Config then, now;
  now.train.max_iters = 4000;
  now.model.dropout = 0.5;
  CHECK(changed_options(then, now) ==
        std::vector<std::string>{"model.dropout 0.0 -> 0.5", "train.max_iters 2000 -> 4000"});
  CHECK(changed_options(then, now, "model") == std::vector<std::string>{"model.dropout 0.0 -> 0.5"});
}

TEST_CASE("schedules that cannot be meant are pointed out") {
  TrainConfig train;
  CHECK(schedule_warnings(train, 2000).empty());
  train.warmup_iters = 2000;
  CHECK(schedule_warnings(train, 2000).size() == 1);
  train.lr_decay_iters = 3000;
  CHECK(schedule_warnings(train, 2000).size() == 2);
  train.lr_schedule = LrSchedule::constant;
  CHECK(schedule_warnings(train, 2000).size() == 1);
  CHECK(schedule_warnings(train, 3000).empty());
}
