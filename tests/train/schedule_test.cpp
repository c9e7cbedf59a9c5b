#include "train/learner.h"

#include "test.h"

using namespace chargpt;

namespace {

TrainConfig schedule(LrSchedule shape) {
  return {.max_iters = 2000, .learning_rate = 1e-3, .min_lr = 1e-4, .lr_schedule = shape, .warmup_iters = 100};
}

}  // namespace

TEST_CASE("warm-up is (step + 1) / (warmup_iters + 1) of the peak") {
  for (const LrSchedule shape : {LrSchedule::cosine, LrSchedule::linear, LrSchedule::constant, LrSchedule::wsd}) {
    CHECK(learning_rate_at(schedule(shape), 0) == Approx(1e-3 / 101));
    CHECK(learning_rate_at(schedule(shape), 99) == Approx(1e-3 * 100 / 101));
    CHECK(learning_rate_at(schedule(shape), 100) == Approx(1e-3));
  }
}

TEST_CASE("cosine has nanoGPT's figures") {
  const TrainConfig train = schedule(LrSchedule::cosine);
  CHECK(learning_rate_at(train, 1050) == Approx((1e-3 + 1e-4) / 2));                // half way: 0.5 (1 + cos(pi / 2))
  CHECK(learning_rate_at(train, 575) == Approx(1e-4 + 0.85355339059 * 9e-4));       // a quarter: 0.5 (1 + cos(pi / 4))
  CHECK(learning_rate_at(train, 1999) == Approx(1e-4 + 6.1516e-10).epsilon(1e-9));  // one before the end
  CHECK(learning_rate_at(train, 2000) == 1e-4);
  CHECK(learning_rate_at(train, 1'000'000) == 1e-4);
}

TEST_CASE("linear falls by equal parts to min_lr") {
  const TrainConfig train = schedule(LrSchedule::linear);
  CHECK(learning_rate_at(train, 1050) == Approx(5.5e-4));
  CHECK(learning_rate_at(train, 1999) == Approx(1e-4 + 9e-4 / 1900));
  CHECK(learning_rate_at(train, 2000) == 1e-4);
}

TEST_CASE("constant stays at the peak") {
  CHECK(learning_rate_at(schedule(LrSchedule::constant), 5000) == 1e-3);
}

TEST_CASE("wsd stays at the peak until its last part, or the end of warm-up, then falls linearly") {
  TrainConfig train = schedule(LrSchedule::wsd);
  CHECK(learning_rate_at(train, 1600) == Approx(1e-3));
  CHECK(learning_rate_at(train, 1800) == Approx(5.5e-4));
  CHECK(learning_rate_at(train, 2000) == 1e-4);
  train.warmup_iters = 1900;
  CHECK(learning_rate_at(train, 1900) == Approx(1e-3));
  CHECK(learning_rate_at(train, 1950) == Approx(5.5e-4));
}

TEST_CASE("the decay ends at lr_decay_iters, or at max_iters where that is 0") {
  TrainConfig train = schedule(LrSchedule::cosine);
  train.lr_decay_iters = 300;
  CHECK(learning_rate_at(train, 200) == Approx(5.5e-4));
  CHECK(learning_rate_at(train, 300) == 1e-4);
  train.lr_decay_iters = 0;
  CHECK(learning_rate_at(train, 300) > 9e-4);
}

TEST_CASE("steps of the decay take the place of its length: held up to FROM, then linearly down to LAST") {
  TrainConfig train = schedule(LrSchedule::linear);
  train.decay_steps = {800, 1000};
  CHECK(learning_rate_at(train, 99) == Approx(1e-3 * 100 / 101));
  CHECK(learning_rate_at(train, 800) == 1e-3);
  CHECK(learning_rate_at(train, 900) == Approx(5.5e-4));
  CHECK(learning_rate_at(train, 1000) == 1e-4);
  CHECK(learning_rate_at(train, 3000) == 1e-4);
  train.lr_schedule = LrSchedule::cosine;
  CHECK(learning_rate_at(train, 850) == Approx(1e-4 + 0.85355339059 * 9e-4));
  train.lr_schedule = LrSchedule::constant;
  CHECK(learning_rate_at(train, 950) == 1e-3);
}

TEST_CASE("a later pair of decay steps spreads what is left of the decay up to its own end") {
  TrainConfig train = schedule(LrSchedule::linear), shorter = train;
  train.decay_steps = {800, 1000, 900, 950};
  CHECK(learning_rate_at(train, 850) == Approx(1e-4 + 0.75 * 9e-4));
  CHECK(learning_rate_at(train, 900) == Approx(1e-4 + 0.5 * 9e-4));
  CHECK(learning_rate_at(train, 925) == Approx(1e-4 + 0.25 * 9e-4));
  CHECK(learning_rate_at(train, 950) == 1e-4);
  shorter.decay_steps = {800, 1000};
  for (std::int64_t step = 0; step <= 900; ++step)
    CHECK(learning_rate_at(train, step) == learning_rate_at(shorter, step));
  train.decay_steps = {800, 1000, 900, 900};  // cut
  CHECK(learning_rate_at(train, 899) > 5e-4);
  CHECK(learning_rate_at(train, 901) == 1e-4);
  train.decay_steps = {800, 1000, 1000, 1200};  // prolonged
  CHECK(learning_rate_at(train, 1100) == 1e-4);
}

TEST_CASE("without warm-up the first update has the full rate") {
  TrainConfig train = schedule(LrSchedule::cosine);
  train.warmup_iters = 0;
  CHECK(learning_rate_at(train, 0) == 1e-3);
}

TEST_CASE("a warm-up as long as the run or longer divides by nothing") {
  TrainConfig train = schedule(LrSchedule::cosine);
  train.warmup_iters = train.max_iters = 10;
  CHECK(learning_rate_at(train, 9) == Approx(1e-3 * 10 / 11));
  CHECK(learning_rate_at(train, 10) == 1e-4);
  train.max_iters = 5;
  CHECK(learning_rate_at(train, 7) == Approx(1e-3 * 8 / 11));
  CHECK(learning_rate_at(train, 10) == 1e-4);
}

TEST_CASE("groups follow the schedule as a part of the peak, and its shape alone where the peak is 0") {
  TrainConfig train = schedule(LrSchedule::linear);
  train.warmup_iters = 10;
  train.max_iters = 110;
  for (const std::int64_t step : {0, 5, 10, 50, 109, 110})
    CHECK(learning_rate_factor(train, step) == learning_rate_at(train, step) / 1e-3);
  train.learning_rate = 0;
  CHECK(learning_rate_at(train, 10) == 0);
  CHECK(learning_rate_factor(train, 0) == Approx(1.0 / 11));
  CHECK(learning_rate_factor(train, 10) == 1);
  CHECK(learning_rate_factor(train, 60) == Approx(0.5));
  CHECK(learning_rate_factor(train, 110) == 0);
}
