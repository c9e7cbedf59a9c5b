// Whole texts of what a person sees while a run goes on.
#include "report/progress.h"

#include "base/files.h"
#include "report/files/metrics.h"
#include "report/log.h"
#include "report/terminal.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

PlanEvent plan() {
  PlanEvent plan;
  plan.config = "nanogpt-cpu";
  plan.run = "runs/nanogpt-cpu-1";
  plan.device = "cpu";
  plan.cpu_capability = "AVX2";
  plan.engine = "libtorch";
  plan.dtype = "float32";
  plan.model_type = "gpt";
  plan.threads = 2;
  plan.parameters = 804096;
  plan.vocab_size = 65;
  plan.train_tokens = 1003854;
  plan.val_tokens = 111540;
  plan.tokens_per_step = 768;
  plan.max_iters = 2000;
  plan.epochs = 1.53;
  plan.memory_bytes = 45'100'000;
  plan.disk_bytes = 29'000'000;
  return plan;
}

StepEvent step(std::int64_t number, double seconds, double loss = 2.5) {
  return {.step = number,
          .max_iters = 2000,
          .share = static_cast<double>(number) / 2000,
          .loss = loss,
          .lr = 1e-3,
          .grad_norm = 1,
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

TEST_CASE("the plan of a resumed run says so, and a plan which of several limits ends the run") {
  PlanEvent event = plan();
  event.start_step = 500;
  CHECK_THAT(plan_text(event), Catch::Contains("1.53 epochs, continuing after step 500\n"));
  event.start_step = 0;
  event.length_set_by = "train.max_seconds";
  event.longer_limits = {"train.max_iters", "train.max_epochs"};
  CHECK(plan_text(event).find("1.53 epochs; train.max_seconds ends it before train.max_iters and train.max_epochs\n") !=
        std::string::npos);
}

TEST_CASE("without a terminal there is a line every few seconds and at each evaluation") {
  Screen screen({});
  screen.printer.on(step(1, 0.5, 4.0));
  CHECK(screen.take() == "step 1 of 2,000 (0%)  loss 4.0000  45.2k tokens/s\n");
  screen.printer.on(step(2, 1.0, 4.0));
  screen.printer.on(step(100, 5.4, 4.0));
  CHECK(screen.take().empty());
  screen.printer.on(step(101, 5.5, 4.0));
  CHECK(screen.take() == "step 101 of 2,000 (5%)  loss 4.0000  45.2k tokens/s  1 min 35 s left\n");
  screen.printer.on(eval(250, 1.9, 1.9, 12.5));
  CHECK(screen.take() == "step 250 of 2,000  val 1.9000 (2.741 bits, ppl 6.69)  train ≈1.8000  new best  after 13 s\n");
  screen.printer.on(eval(500, 2.0, 1.9, 17.4));
  CHECK(screen.take() ==
        "step 500 of 2,000  val 2.0000 (2.885 bits, ppl 7.39)  train ≈1.8000  best 1.9000  after 17 s\n");
  screen.printer.on(step(1999, 22.3, 4.0));
  CHECK(screen.take().empty());
  screen.printer.on(step(2000, 100.5, 4.0));
  CHECK(screen.take() == "step 2,000 of 2,000 (100%)  loss 4.0000  best val 1.9000  45.2k tokens/s  0.0 s left\n");
}

TEST_CASE("on a terminal one line repaints itself and evaluations stay") {
  Screen screen({.is_terminal = true});
  screen.printer.on(step(1, 0.5));
  CHECK(screen.take() == "\rstep 1 of 2,000 (0%)  loss 2.5000  45.2k tokens/s\x1b[K");
  screen.printer.on(step(2, 0.55));
  CHECK(screen.take().empty());
  screen.printer.on(step(3, 0.61));
  CHECK(screen.take() == "\rstep 3 of 2,000 (0%)  loss 2.5000  45.2k tokens/s  1 min 50 s left\x1b[K");
  screen.printer.on(eval(3, 1.9, 1.8, 12.5));
  CHECK(screen.take() == "\r\x1b[Kstep     3/2,000  val 1.9000 (2.741 bits, ppl 6.69)  train ≈1.8000  best 1.8000\n");
  screen.printer.on(step(4, 12.51));
  CHECK(screen.take() == "\rstep 4/2,000  loss 2.5000  best val 1.8000  45.2k tokens/s  2 h 13 min left\x1b[K");
  screen.printer.finish();
  CHECK(screen.take() == "\r\x1b[K");
  screen.printer.finish();
  CHECK(screen.take().empty());
}

TEST_CASE("a terminal of unknown width is taken as one of 80 columns") {
  Screen unknown({.is_terminal = true, .width = 0});
  unknown.printer.on(step(1000, 1));
  CHECK(unknown.take() == "\rstep 1,000 of 2,000 (50%)  loss 2.5000  45.2k tokens/s\x1b[K");  // taken as 80
}

TEST_CASE("the repainted line tells at 60 columns how far, how good and how long, and at 120 all there is") {
  const auto line_at = [](std::size_t width) {
    Screen screen({.is_terminal = true, .width = width});
    for (int i = 0; i < 20; ++i) screen.printer.on(step(1000 + i, i * 0.1, 3.0 - 0.1 * i));
    screen.printer.on(eval(1019, 1.9, 1.8, 2));
    screen.take();
    screen.printer.on(step(1020, 2.2, 1.0));
    return screen.take();
  };
  CHECK(line_at(40) == "\rstep 1,020/2,000  loss 1.8155\x1b[K");
  CHECK(line_at(60) == "\rstep 1,020/2,000  loss 1.8155  best 1.8000  1:48 left\x1b[K");
  CHECK(line_at(80) == "\rstep 1,020/2,000  loss 1.8155  best val 1.8000  45.2k tokens/s  1 min 48 s left\x1b[K");
  CHECK(line_at(120) ==
        "\rstep 1,020 of 2,000 (51%)  loss 1.8155  best val 1.8000  45.2k tokens/s  1 min 48 s left\x1b[K");
  for (std::size_t width = 1; width < 140; ++width) {
    const std::string line = line_at(width);
    CHECK(display_width(line.substr(1, line.size() - 4)) < width);
  }
}

TEST_CASE("an evaluation takes one line of any terminal and breaks no word") {
  const auto line_at = [](std::size_t width, const EvalEvent& event) {
    Screen screen({.is_terminal = true, .width = width});
    screen.printer.on(plan());
    screen.take();
    screen.printer.on(event);
    return screen.take();
  };
  const EvalEvent best = eval(250, 1.9, 1.9, 70), worse = eval(2000, 2.0, 1.9, 70);
  CHECK(line_at(120, best) ==
        "step   250 of 2,000  val 1.9000 (2.741 bits, ppl 6.69)  train ≈1.8000  new best     after 1 min 10 s\n");
  CHECK(line_at(120, worse) ==
        "step 2,000 of 2,000  val 2.0000 (2.885 bits, ppl 7.39)  train ≈1.8000  best 1.9000  after 1 min 10 s\n");
  CHECK(line_at(80, best) == "step   250/2,000  val 1.9000 (2.741 bits, ppl 6.69)  train ≈1.8000  new best\n");
  CHECK(line_at(80, worse) == "step 2,000/2,000  val 2.0000 (2.885 bits, ppl 7.39)  train ≈1.8000  best 1.9000\n");
  CHECK(line_at(60, worse) == "step 2,000/2,000  val 2.0000  train ≈1.8000  best 1.9000\n");
  EvalEvent averaged = worse;
  averaged.averaged_val_loss = 1.95;
  averaged.leaks = true;
  CHECK(line_at(60, averaged) == "step 2,000/2,000  val 2.0000 (leaks)  best 1.9000\n");
  CHECK(line_at(30, worse) == "step 2,000/2,000  val 2.0000\n");
}

TEST_CASE("the loss of a model that sees its own targets is labelled wherever it stands") {
  Screen screen({});
  PlanEvent event = plan();
  event.leaks = true;
  screen.printer.on(event);
  screen.take();
  screen.printer.on(step(1, 0.5));
  CHECK(screen.take() == "step 1 of 2,000 (0%)  loss 2.5000 (leaks: sees its own targets)  45.2k tokens/s\n");
  EvalEvent evaluation = eval(250, 1.9, 1.9, 12.5);
  evaluation.leaks = true;
  evaluation.train_loss.reset();
  evaluation.exact = false;
  screen.printer.on(evaluation);
  CHECK(screen.take() ==
        "step 250 of 2,000  val ≈1.9000 (2.741 bits, ppl 6.69) (leaks: sees its own targets)  new best  after 13 s\n");
}

TEST_CASE("the loss shown is smoothed and passes over figures that are not finite") {
  SmoothedValue value(0.5);
  CHECK(std::isnan(value.value()));
  value.add(4);
  CHECK(value.value() == 4);
  value.add(1);  // weights 1/3 and 2/3
  CHECK(value.value() == Approx(2));
  value.add(std::numeric_limits<double>::quiet_NaN());
  value.add(std::numeric_limits<double>::infinity());
  CHECK(value.value() == Approx(2));
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
        "step 1 of 2,000 (0%)  loss 2.5000  45.2k tokens/s\n"
        "step 1 of 2,000  val 1.9000 (2.741 bits, ppl 6.69)  train ≈1.8000  \x1b[32mnew best\x1b[0m  after 1.0 s\n"
        "saved runs/a/checkpoints/step-00000001 (best)\n"
        "sample after step 1:\nTo be\\x1b[2J\nor\n"
        "chargpt: \x1b[33ma notice\\x0dover\x1b[0m\n");
}

TEST_CASE("a plan and steps without a length are shown, not divided by") {
  Screen screen({});
  StepEvent event = step(7, 1);
  event.max_iters = 0;
  event.share = 0.125;
  screen.printer.on(event);
  CHECK(screen.take() == "step 7 (12%)  loss 2.5000  45.2k tokens/s\n");
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
