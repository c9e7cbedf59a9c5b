// The bounds of each verdict. Weights, and whole trainings, are compared in tests/cli/test_reproduce.py.
#include "compare/same_training.h"

#include "failure.h"
#include "report/files/metrics.h"
#include "test_folder.h"

namespace chargpt {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// What comes of a run with losses 4, 2 and 1 of steps 1, 20 and 21, and 1 and none of its evaluation at 30.
struct Second {
  double first = 4, twentieth = 2, next = 1, train_loss = 1, val_loss = nan;
};

SameTraining answer_to(const Second& now, std::int64_t last = 30) {
  const TestFolder first, second;
  first.write("metrics.jsonl",
              "{\"kind\":\"train\",\"step\":1,\"loss\":4.0}\n{\"kind\":\"train\",\"step\":20,\"loss\":2.0}\n"
              "{\"kind\":\"train\",\"step\":21,\"loss\":1.0}\n"
              "{\"kind\":\"eval\",\"step\":30,\"train_loss\":1.0,\"val_loss\":null}\n"
              "{\"kind\":\"train\",\"step\":31,\"loss\":9.0}\n");
  {
    MetricsWriter writer(second.path() / "metrics.jsonl");
    writer.on(StepEvent{.step = 1, .loss = now.first});
    writer.on(StepEvent{.step = 20, .loss = now.twentieth});
    writer.on(StepEvent{.step = 21, .loss = now.next});
    writer.on(EvalEvent{.step = 30, .train_loss = now.train_loss, .val_loss = now.val_loss});
  }
  return compare_trainings(first.path(), second.path(), last);
}

}  // namespace

TEST_CASE("the same losses are the same bits, one that is not finite among them") {
  const SameTraining answer = answer_to({});
  CHECK(answer.verdict == Verdict::bits);
  CHECK_FALSE(answer.difference);
  CHECK(to_text(answer) == "the same bits: 5 losses");
  CHECK(to_text(SameTraining{.losses = 1, .same_weights = {20}}) ==
        "the same bits: 1 loss, and the weights of step 20");
  CHECK(answer_to({.val_loss = std::numeric_limits<double>::infinity()}).verdict == Verdict::bits);  // saved as null
}

TEST_CASE("the first 20 losses are within rounding up to 1e-4 of themselves, later ones in any case") {
  CHECK(to_text(answer_to({.twentieth = 2.00019})) ==
        "the same within rounding, of 5 losses; the first difference: step 20, loss 2.0 then and 2.00019 now");
  CHECK(answer_to({.twentieth = 2 - 2.1e-4}).verdict == Verdict::differs);
  CHECK(answer_to({.next = 3}).verdict == Verdict::rounding);
  CHECK(answer_to({.next = nan}).verdict == Verdict::differs);
}

TEST_CASE("evaluations are within rounding up to 0.02") {
  CHECK(answer_to({.train_loss = 1.019}).verdict == Verdict::rounding);
  CHECK(answer_to({.train_loss = 0.979}).verdict == Verdict::differs);
  CHECK(answer_to({.val_loss = 1}).verdict == Verdict::differs);
}

TEST_CASE("the first step that shows a difference is named") {
  CHECK(to_text(answer_to({.first = 4.0001, .twentieth = 3, .next = 3})) ==
        "different: step 20, loss 2.0 then and 3.0 now");
}

TEST_CASE("a loss that does not come again is a difference") {
  const SameTraining answer = answer_to({}, 31);
  CHECK(answer.verdict == Verdict::differs);
  CHECK(answer.difference->step == 31);
}

TEST_CASE("what a run has not saved cannot be compared") {
  CHECK(error_of([] { answer_to({}, 0); }).code == ExitCode::data);
}

}  // namespace chargpt
