// The bounds of each verdict. Weights, and whole trainings, are compared in tests/cli/test_reproduce.py.
#include "compare/repetition.h"

#include "failure.h"
#include "test_folder.h"

namespace chargpt {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// What comes of a run with losses 4, 2 and 1 of steps 1, 20 and 30, and 1 and none of its evaluation at 30.
struct Second {
  double first = 4, twentieth = 2, thirtieth = 1, train_loss = 1, val_loss = nan;
};

struct Answer {
  Verdict verdict;
  std::optional<Difference> difference;
  bool stopped;
};

Answer answer_to(const Second& now, std::int64_t last = 30) {
  const TestFolder folder;
  folder.write("metrics.jsonl",
               "{\"kind\":\"train\",\"step\":1,\"loss\":4.0}\n{\"kind\":\"train\",\"step\":20,\"loss\":2.0}\n"
               "{\"kind\":\"train\",\"step\":30,\"loss\":1.0}\n"
               "{\"kind\":\"eval\",\"step\":30,\"train_loss\":1.0,\"val_loss\":null}\n"
               "{\"kind\":\"train\",\"step\":31,\"loss\":9.0}\n");
  const std::atomic<bool> outside = false;
  Repetition repetition(folder.path(), last, outside);
  repetition.on(StepEvent{.step = 1, .loss = now.first});
  repetition.on(StepEvent{.step = 20, .loss = now.twentieth});
  repetition.on(StepEvent{.step = 30, .loss = now.thirtieth});
  const bool stopped = repetition.stop();
  repetition.on(EvalEvent{.step = 30, .train_loss = now.train_loss, .val_loss = now.val_loss});
  return {repetition.verdict(), repetition.difference(), stopped};
}

}  // namespace

TEST_CASE("the same losses are the same bits, one that is not finite among them") {
  const Answer answer = answer_to({});
  CHECK(answer.verdict == Verdict::bits);
  CHECK_FALSE(answer.difference);
  CHECK_FALSE(answer.stopped);  // the last evaluation is yet to come
  CHECK(answer_to({.val_loss = std::numeric_limits<double>::infinity()}).verdict == Verdict::bits);  // saved as null
}

TEST_CASE("the first 20 losses are within rounding up to 1e-4 of themselves, later ones in any case") {
  CHECK(answer_to({.twentieth = 2 + 1.9e-4}).verdict == Verdict::rounding);
  CHECK(answer_to({.twentieth = 2 - 2.1e-4}).verdict == Verdict::differs);
  CHECK(answer_to({.thirtieth = 3}).verdict == Verdict::rounding);
  CHECK(answer_to({.thirtieth = nan}).verdict == Verdict::differs);
}

TEST_CASE("evaluations are within rounding up to 0.02") {
  CHECK(answer_to({.train_loss = 1.019}).verdict == Verdict::rounding);
  CHECK(answer_to({.train_loss = 0.979}).verdict == Verdict::differs);
  CHECK(answer_to({.val_loss = 1}).verdict == Verdict::differs);
}

TEST_CASE("the first step that tells is named, and training ends there") {
  const Answer answer = answer_to({.first = 4.0001, .twentieth = 3, .thirtieth = 3});
  REQUIRE(answer.difference);
  CHECK(answer.difference->step == 20);
  CHECK(answer.difference->what == "loss");
  CHECK(answer.difference->then == 2);
  CHECK(answer.difference->now == 3);
  CHECK(answer.stopped);
}

TEST_CASE("a loss that does not come again is a difference") {
  const Answer answer = answer_to({}, 31);
  CHECK(answer.verdict == Verdict::differs);
  CHECK(answer.difference->step == 31);
}

TEST_CASE("what a run has not saved cannot be compared") {
  CHECK(error_of([] { answer_to({}, 0); }).code == ExitCode::data);
}

}  // namespace chargpt
