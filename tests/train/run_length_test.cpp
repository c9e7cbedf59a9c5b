#include "train/run_length.h"

#include "base/error.h"
#include "config/describe.h"
#include "config/load.h"
#include "network/model_types.h"
#include "train/conditions.h"
#include "train/learner.h"
#include "train/plan.h"

#include "test.h"

using namespace chargpt;

namespace {

using Options = std::vector<std::string>;

ResolvedConfig limited(std::int64_t iterations, double epochs, double seconds) {
  ResolvedConfig resolved;
  resolved.config.train = {.max_iters = iterations, .max_epochs = epochs, .max_seconds = seconds};
  return resolved;
}

}  // namespace

TEST_CASE("what is set limits the length, and max_iters where nothing else does") {
  CHECK(length_limits(limited(2000, 0, 0)) == Options{"train.max_iters"});
  CHECK(length_limits(limited(0, 0, 0)) == Options{"train.max_iters"});
  CHECK(length_limits(limited(0, 2, 0)) == Options{"train.max_epochs"});
  CHECK(length_limits(limited(2000, 2, 60)) == Options{"train.max_iters", "train.max_epochs", "train.max_seconds"});
  CHECK(needs_pace(length_limits(limited(2000, 2, 60))));
  CHECK_FALSE(needs_pace(length_limits(limited(2000, 2, 0))));
}

TEST_CASE("a settled max_iters says what settled it, and limits a later run only if it was asked for") {
  ResolvedConfig asked = limited(2000, 2, 0), free = limited(0, 2, 60);
  settle_steps(asked, "train.max_epochs", 45);
  CHECK(asked.config.train.max_iters == 45);
  CHECK(length_set_by(asked) == "train.max_epochs");
  CHECK(length_limits(asked) == Options{"train.max_iters", "train.max_epochs"});

  settle_steps(free, "train.max_epochs", 45);
  settle_steps(free, "train.max_seconds", 30);
  CHECK(length_set_by(free) == "train.max_seconds");
  CHECK(length_limits(free) == Options{"train.max_epochs", "train.max_seconds"});
  CHECK(length_set_by(limited(2000, 0, 0)) == "train.max_iters");
}

TEST_CASE("a resumed run keeps its settled length unless a limit was changed") {
  const TrainConfig earlier = limited(45, 2, 60).config.train;
  CHECK(keeps_length(earlier, earlier));
  CHECK_FALSE(keeps_length(limited(50, 2, 60).config.train, earlier));
  CHECK_FALSE(keeps_length(limited(45, 3, 60).config.train, earlier));
  CHECK_FALSE(keeps_length(limited(45, 2, 0).config.train, earlier));
}

TEST_CASE("epochs settle the length at once, and a run that goes on keeps it unless a limit was changed") {
  OneProcess alone;
  const RunClock clock({}, 0, alone);
  const std::int64_t tokens = tokens_per_step(Config());
  const RunLength length(limited(0, 3, 0), 7 * tokens, {}, clock);
  CHECK(length.steps() == 21);
  CHECK(length.config().origin.at("train.max_iters").text() == "train.max_epochs");
  CHECK(length.asked().config.train.max_iters == limited(0, 3, 0).config.train.max_iters);

  RunLength goes_on(length.config(), 9 * tokens, {}, clock);
  CHECK(goes_on.steps() == 27);
  goes_on.resume(length.config().config.train);
  CHECK(goes_on.steps() == 21);
  goes_on.resume(limited(0, 2, 0).config.train);
  CHECK(goes_on.steps() == 27);
}

TEST_CASE("seconds leave the number of steps open, up to the other limits, until the clock has been looked at") {
  double now = 1000;
  OneProcess alone;
  RunClock clock([&now] { return now; }, 0, alone);
  clock.start();
  RunLength length(limited(0, 0, 10), 1000, {}, clock), limits(limited(500, 0, 10), 1000, {}, clock);
  CHECK(length.by_clock());
  length.expect(0.01, {}, 0);
  limits.expect(0.01, {}, 0);
  CHECK(length.steps() == Approx(970).margin(2));
  CHECK(length_set_by(length.config()) == "train.max_seconds");
  CHECK(limits.steps() == 500);
  CHECK(length_set_by(limits.config()) == "train.max_iters");
  CHECK(length.seconds_for_evaluation(false) == Approx(0.3));
  CHECK(length.seconds_for_evaluation(true) == Approx(9.9));
  now = 1009;
  length.follow_step(1);
  CHECK(length.seconds_for_evaluation(true) == Approx(0.9));
  clock.count_on_from(9);  // of an earlier process
  CHECK(clock.seconds() == 18);
  CHECK_FALSE(RunLength(limited(500, 0, 0), 1000, {}, clock).by_clock());
}

TEST_CASE("evaluations that max_seconds has limited are as asked for again in a run of another length") {
  OneProcess alone;
  const RunClock clock({}, 0, alone);
  ResolvedConfig asked = limited(0, 0, 10);
  asked.config.eval.eval_iters = 20;
  asked.origin["eval.eval_iters"] = {Origin::By::option, "--eval_iters"};
  RunLength timed(asked, 1000, {}, clock);
  for (const std::int64_t fewer : {5, 1}) timed.limit_evaluations(fewer);
  const ResolvedConfig saved = timed.config();
  CHECK(saved.origin.at("eval.eval_iters").text() == "train.max_seconds, instead of 20 (option --eval_iters)");
  CHECK(RunLength(saved, 1000, {}, clock).config().config.eval.eval_iters == 20);  // a new run of that config

  RunLength resumed(saved, 1000, {}, clock);
  resumed.resume(saved.config.train);
  CHECK(resumed.config().config.eval.eval_iters == 1);
  CHECK(limits_evaluations(resumed.config()));
  ResolvedConfig by_steps = saved;
  by_steps.config.train.max_iters = 500;
  by_steps.config.train.max_seconds = 0;
  RunLength longer(by_steps, 1000, {}, clock);
  longer.resume(saved.config.train);
  CHECK(longer.config().config.eval.eval_iters == 20);
  CHECK(longer.config().origin.at("eval.eval_iters").text() == "--eval_iters");
}

TEST_CASE("a run that the clock ended, resumed without its seconds, has the rates of its steps") {
  OneProcess alone;
  const RunClock clock({}, 0, alone);
  ResolvedConfig ended = limited(500, 0, 10);
  ended.config.train.decay_steps = {20, 30};  // what the seconds came to
  ResolvedConfig by_steps = ended;
  by_steps.config.train.max_seconds = 0;
  RunLength resumed(by_steps, 1000, {}, clock);
  resumed.resume(ended.config.train);
  CHECK(resumed.steps() == 500);
  const TrainConfig& train = resumed.config().config.train;  // warm-up to step 100, then from 1e-3 to 1e-4
  CHECK(learning_rate_at(train, 300) == Approx((1e-3 + 1e-4) / 2));
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

TEST_CASE("where max_seconds has planned the decay, lr_decay_iters is not warned of") {
  CHECK(schedule_warnings({.lr_decay_iters = 3000, .decay_steps = {400, 2000}}, 2000).empty());
}
