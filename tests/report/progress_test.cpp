// Whole texts of what a person sees while a run goes on.
#include "report/progress.h"

#include "base/files.h"
#include "report/files/metrics.h"
#include "report/terminal.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

PlanEvent plan() {
  PlanEvent plan;
  plan.vocab_size = 65;
  plan.max_iters = 2000;
  plan.length_set_by = "train.max_iters";
  plan.epochs = 1.53;
  return plan;
}

StepEvent step(std::int64_t number, double seconds, double loss = 2.5) {
  return {.step = number,
          .max_iters = 2000,
          .share = static_cast<double>(number) / 2000,
          .loss = loss,
          .tokens_per_second = 45213,
          .seconds = seconds};
}

EvalEvent eval(std::int64_t number, double val_loss, double best_val_loss, double seconds) {
  return {.step = number,
          .train_loss = 1.8,
          .val_loss = val_loss,
          .best = val_loss == best_val_loss,
          .best_val_loss = best_val_loss,
          .seconds = seconds};
}

/// What a printer with these options wrote.
struct Screen {
  explicit Screen(ProgressOptions options) : printer(options, [this](std::string_view text) { shown += text; }) {}
  std::string take() { return std::exchange(shown, ""); }
  std::string shown;
  ProgressPrinter printer;
};

}  // namespace

TEST_CASE("the plan of a resumed run says so, and a plan which limit ends the run") {
  PlanEvent event = plan();
  event.start_step = 500;
  CHECK_THAT(plan_text(event), Catch::Contains("1.53 epochs, continuing after step 500\n"));
  event.start_step = 0;
  event.length_set_by = "train.max_seconds";
  CHECK_THAT(plan_text(event), Catch::Contains("1.53 epochs; train.max_seconds ends it\n"));
}

TEST_CASE("without a terminal there is a line every few seconds and at each evaluation") {
  Screen screen({});
  screen.printer.on(step(1, 0.5, 4.0));
  CHECK(screen.take() == "step 1 of 2,000  loss 4.0000  45.2k tokens/s\n");
  screen.printer.on(step(2, 1.0, 4.0));
  screen.printer.on(step(100, 5.4, 4.0));
  CHECK(screen.take().empty());
  screen.printer.on(step(101, 5.5, 4.0));
  CHECK(screen.take() == "step 101 of 2,000  loss 4.0000  1 min 35 s left  45.2k tokens/s\n");
  screen.printer.on(eval(250, 1.9, 1.9, 12.5));
  CHECK(screen.take() == "step   250 of 2,000  val 1.9000  new best     train ≈1.8000  after 13 s\n");
  screen.printer.on(eval(500, 2.0, 1.9, 17.4));
  CHECK(screen.take() == "step   500 of 2,000  val 2.0000  best 1.9000  train ≈1.8000  after 17 s\n");
}

TEST_CASE("on a terminal one line repaints itself and evaluations stay") {
  Screen screen({.columns = 80});
  screen.printer.on(step(1, 0.5));
  CHECK(screen.take() == "\rstep 1 of 2,000  loss 2.5000  45.2k tokens/s\x1b[K");
  screen.printer.on(step(2, 0.55));
  CHECK(screen.take().empty());
  screen.printer.on(WorkEvent{"updating", 0, 2, 0.6});
  screen.printer.on(step(3, 0.61));
  CHECK(screen.take() == "\rstep 3 of 2,000  loss 2.5000  1 min 50 s left  45.2k tokens/s\x1b[K");
  screen.printer.on(eval(3, 1.9, 1.8, 12.5));
  CHECK(screen.take() == "\r\x1b[Kstep     3 of 2,000  val 1.9000  best 1.8000  train ≈1.8000  after 13 s\n");
  screen.printer.on(step(4, 12.51));
  CHECK(screen.take() == "\rstep 4 of 2,000  loss 2.5000  2 h 13 min left  best val 1.8000  45.2k tokens/s\x1b[K");
  screen.printer.finish();
  screen.printer.finish();
  CHECK(screen.take() == "\r\x1b[K");
}

TEST_CASE("a narrow terminal shows the first parts of a line, and cuts none of them") {
  const std::vector<std::string> parts = {"step 5", "", "loss 2.5 ", "日本"};
  CHECK(fitting_parts(parts, 0) == "step 5  loss 2.5   日本");
  CHECK(fitting_parts(parts, 23) == "step 5  loss 2.5   日本");
  CHECK(fitting_parts(parts, 22) == "step 5  loss 2.5");
  CHECK(fitting_parts(parts, 15) == "step 5");
  CHECK(fitting_parts(parts, 3) == "ste");
  for (std::size_t width = 2; width < 100; ++width) {
    Screen screen({.columns = width});
    screen.printer.on(eval(1000, 1.9, 1.8, 2));
    screen.take();
    screen.printer.on(step(1000, 0.5));
    const std::string line = screen.take();
    CHECK(display_width(line.substr(1, line.size() - 4)) < width);
  }
}

TEST_CASE("the loss of a model that sees its own targets is labelled wherever it is shown") {
  Screen screen({});
  PlanEvent event = plan();
  event.leaks = true;
  screen.printer.on(event);
  CHECK_THAT(screen.take(), Catch::Contains(" parameters (leaks: sees its own targets)\n"));
  screen.printer.on(step(1, 0.5));
  CHECK(screen.take() == "step 1 of 2,000  loss 2.5000 (leaks)  45.2k tokens/s\n");
  EvalEvent evaluation = eval(250, 1.9, 1.9, 12.5);
  evaluation.averaged_val_loss = 1.85;
  evaluation.leaks = true;
  evaluation.train_loss.reset();
  evaluation.exact = false;
  screen.printer.on(evaluation);
  CHECK(screen.take() == "step   250 of 2,000  val ≈1.9000 (leaks)  new best      averaged ≈1.8500  after 13 s\n");
}

TEST_CASE("the loss shown is smoothed and passes over figures that are not finite") {
  SmoothedValue value(0.5);
  CHECK(std::isnan(value.value()));
  for (const double loss : {4.0, 1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) value.add(loss);
  CHECK(value.value() == Approx(2));  // weights 1/3 and 2/3
}

TEST_CASE("quiet leaves nothing, verbose adds checkpoints and samples") {
  const auto everything = [](ProgressPrinter& printer) {
    printer.on(plan());
    printer.on(step(1, 0.5));
    printer.on(eval(1, 1.9, 1.9, 1));
    printer.on(CheckpointEvent{1, "runs/a/checkpoints/step-00000001", true});
    printer.on(SampleEvent{1, "To be\x1b[2J\nor"});
    printer.on(NoticeEvent{"a notice\rover"});
  };
  Screen quiet({.quiet = true});
  everything(quiet.printer);
  CHECK(quiet.take().empty());
  Screen verbose({.color = true, .verbose = true});
  everything(verbose.printer);
  const std::string shown = verbose.take();
  CHECK(shown.substr(shown.find("step 1 of")) ==
        "step 1 of 2,000  loss 2.5000  45.2k tokens/s\n"
        "step     1 of 2,000  val 1.9000  \x1b[32mnew best\x1b[0m     train ≈1.8000  after 1.0 s\n"
        "saved runs/a/checkpoints/step-00000001 (best)\n"
        "sample after step 1:\nTo be\\x1b[2J\nor\n"
        "chargpt: \x1b[33ma notice\\rover\x1b[0m\n");
}

TEST_CASE("a plan and steps without a length are shown, not divided by") {
  Screen screen({});
  screen.printer.on(StepEvent{.step = 7, .share = 0.125, .loss = 2.5, .tokens_per_second = 45213});
  CHECK(screen.take() == "step 7 (12 %)  loss 2.5000  45.2k tokens/s\n");
}

TEST_CASE_METHOD(TestFolder, "samples are files named by their step") {
  SampleFileWriter samples(path());
  samples.on(SampleEvent{500, "To be\n"});
  samples.on(SampleEvent{500, "or not\n"});
  CHECK(read_file(path() / "samples/step-00000500.txt") == "or not\n");
  const TestFolder occupied;
  write_file_atomically(occupied / "samples", "");
  SampleFileWriter nowhere(occupied.path());
  CHECK_THROWS_WITH(nowhere.on(SampleEvent{1, ""}), Catch::Contains((occupied / "samples").string()));
}
