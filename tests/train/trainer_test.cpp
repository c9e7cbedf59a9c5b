#include "train/trainer.h"

#include "base/files.h"
#include "evaluate/split_loss.h"
#include "failure.h"
#include "kernels/bf16.h"
#include "run/checkpoint.h"
#include "small_run.h"
#include "train/conditions.h"
#include "train/evaluator.h"

using namespace chargpt;

namespace {

std::vector<std::int64_t> steps_of(const std::vector<CheckpointEvent>& checkpoints) {
  std::vector<std::int64_t> steps;
  for (const CheckpointEvent& event : checkpoints) steps.push_back(event.step);
  return steps;
}

/// Ends at the first of these limits; 0: none.
ResolvedConfig limited(std::int64_t iterations, double epochs = 0, double seconds = 0) {
  ResolvedConfig config = small_config();
  config.config.train.max_iters = iterations;
  config.config.train.max_epochs = epochs;
  config.config.train.max_seconds = seconds;
  return config;
}

}  // namespace

TEST_CASE_METHOD(TestFolder, "a run: plan, every step, evaluations at 0, intervals and end, checkpoints but at 0") {
  SmallRun run(small_config(), path());
  CHECK(run.trainer.run() == Ending::finished);
  const Recorder& seen = *run.recorder;
  REQUIRE(seen.plans.size() == 1);
  CHECK(seen.steps.size() == 12);
  CHECK(seen.steps.front().step == 1);
  CHECK(seen.evaluated() == std::vector<std::int64_t>{0, 5, 10, 12});
  CHECK(steps_of(seen.checkpoints) == std::vector<std::int64_t>{5, 10, 12});
  CHECK(seen.samples.size() == 4);
  CHECK(seen.samples.back().text.size() == 6);
  CHECK(run.trainer.state().step == 12);
  CHECK(last_checkpoint(path()).state.step == 12);
}

TEST_CASE("training lowers the loss, and the best is the lowest evaluated") {
  ResolvedConfig config = small_config();
  config.config.model.dropout = 0;
  config.config.train.max_iters = 60;
  EndedRun run(config);
  const std::vector<EvalEvent>& evaluations = run.recorder->evaluations;
  CHECK(evaluations.back().val_loss < evaluations.front().val_loss - 0.3);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < evaluations.size(); ++i) {
    CHECK(evaluations[i].best == (evaluations[i].val_loss < best));
    best = std::min(best, evaluations[i].val_loss);
    CHECK(evaluations[i].best_val_loss == best);
  }
  CHECK(run.trainer.state().best_val_loss == best);
}

TEST_CASE("the seconds of a measured plan are about those that the run then takes") {
  ResolvedConfig config = small_config();
  config.config.model.n_layer = 1;
  config.config.eval = {.eval_interval = 8, .sample_tokens = 0};
  const Corpus corpus = small_corpus(formula_text(327'690));  // 4,096 windows to validate
  const auto clock = std::make_shared<FakeClock>();
  double slower = 1;
  clock->slower = [&slower](const WorkEvent&) { return slower; };
  double begun = clock->seconds;
  timed_run(config, clock, {}, corpus)->trainer.step();
  slower = 0.2 / (clock->seconds - begun);  // steps of 0.2 s, three of which are measured and the first left out
  const double planned = timed_run(config, clock, {}, corpus)->trainer.plan(true).seconds.value();
  begun = clock->seconds;
  timed_run(config, clock, {}, corpus)->trainer.run();
  CHECK(planned == Approx(clock->seconds - begun).epsilon(0.15));
}

TEST_CASE("the tokens of all micro-batches count in the speed of a step") {
  SmallRun run(small_config());
  const StepEvent step = run.trainer.step();
  CHECK(step.tokens_per_second == Approx(2 * 3 * 8 / run.trainer.state().training_seconds));
}

TEST_CASE("of a text without a newline samples start from its most frequent symbol") {
  const Corpus corpus = small_corpus(formula_text(1200, "abb"));
  CHECK(start_symbol(corpus) == corpus.vocabulary().id_of('b'));
}

TEST_CASE("a sample of a model of documents ends with its document") {
  ResolvedConfig config = small_config();
  config.config.data.documents = Documents::lines;
  config.config.train.max_iters = 0;  // a document ends at each symbol with a probability of about a sixth
  config.config.eval.sample_tokens = 200;
  std::string word = "abcde", words;
  for (bool more = true; more; more = std::ranges::next_permutation(word).found) words += word + "\n";
  EndedRun run(config, {}, -1, corpus_from_text(words, config.config.data, "a text"));
  CHECK(run.recorder->samples.at(0).text.size() < 100);
}

TEST_CASE("of several limits the shortest ends the run, and the plan says which") {
  SmallRun by_epochs(limited(1000, 2, 3600));
  const PlanEvent plan = by_epochs.trainer.plan(false);
  CHECK(plan.max_iters == 45);
  CHECK(plan.length_set_by == "train.max_epochs");
  CHECK(by_epochs.trainer.config().config.train.max_iters == 1000);  // as it was asked for

  SmallRun by_seconds(limited(100'000, 1e6, 0.5));
  const PlanEvent other = by_seconds.trainer.plan(false);
  CHECK(other.max_iters < 100'000);
  CHECK(other.length_set_by == "train.max_seconds");

  SmallRun run(limited(12, 1e6));
  CHECK(run.trainer.plan(false).max_iters == 12);
  CHECK(run.trainer.plan(false).length_set_by == "train.max_iters");
}

TEST_CASE_METHOD(TestFolder, "a resumed run that diverges before it saves names the checkpoint that it began with") {
  StoppedRun first(small_config(), path(), 7);
  const Checkpoint stopped = last_checkpoint(path());
  ResumedRun second(small_config(), path(), stopped);
  poison(second.trainer);
  CHECK_THAT(message_of(ExitCode::diverged, [&] { second.trainer.step(); }),
             Catch::Contains("the last good checkpoint is " + stopped.path.string()));
}

TEST_CASE("a model that sees its targets is flagged wherever its loss is shown") {
  ResolvedConfig config = small_config("average");
  config.config.model.causal = false;
  EndedRun run(config);
  CHECK(run.recorder->plans[0].leaks);
  for (const EvalEvent& event : run.recorder->evaluations) CHECK(event.leaks);
  CHECK(run.recorder->noticed("its loss means nothing"));
}

TEST_CASE("eval_iters evaluates so many batches, not all windows, and says so") {
  const auto first_evaluation = [](std::int64_t eval_iters, std::int64_t batch_size) {
    ResolvedConfig config = small_config();
    config.config.train.max_iters = 0;
    config.config.train.batch_size = batch_size;
    config.config.eval.eval_iters = eval_iters;
    EndedRun run(config);
    return run.recorder->evaluations.front();
  };
  const EvalEvent six = first_evaluation(2, 3);  // windows, of 15
  CHECK_FALSE(six.exact);
  CHECK(six.val_loss == first_evaluation(6, 1).val_loss);
  CHECK(six.val_loss != first_evaluation(2, 1).val_loss);
  CHECK(first_evaluation(100, 3).exact);
}

TEST_CASE("beside an exact validation loss a quarter as many windows of the train split are scored") {
  const auto check = [](Documents documents, const std::string& text) {
    ResolvedConfig config = small_config();
    config.config.data.documents = documents;
    config.config.train.max_iters = 0;
    EndedRun run(config, {}, -1, corpus_from_text(text, config.config.data, "a text"));
    const Corpus& corpus = run.trainer.corpus();
    CHECK(run.recorder->evaluations.front().train_loss ==
          sampled_loss(run.trainer.engine(), WindowCut(corpus.train(), 8), WindowCut(corpus.val(), 8).count() / 4));
  };
  check(Documents::none, formula_text(1200));
  std::string word = "abcdef", words;
  for (bool more = true; more; more = std::ranges::next_permutation(word).found) words += word + "\n";
  check(Documents::lines, words);  // shorter than a window, so that there are more windows than eighths of the text
}

TEST_CASE("the better of two losses is the best, and patience counts the evaluations since") {
  RunProgress progress;
  const auto recorded = [&](std::int64_t step, double val, std::optional<double> averaged) {
    progress.step = step;
    record_losses(progress, {.val = val, .train = 0, .averaged_val = averaged}, /*guessing=*/4);
    return std::pair(progress.best_step, progress.evals_without_improvement);
  };
  using Row = std::pair<std::int64_t, std::int64_t>;
  CHECK(recorded(0, 1, std::nullopt).first <= 0);              // of weights that are not saved
  CHECK(recorded(3, 4.1, 4) == Row{RunProgress::no_step, 1});  // no better than guessing
  CHECK(recorded(5, 3, std::nullopt) == Row{5, 0});
  CHECK(recorded(10, 3, 4) == Row{5, 1});
  CHECK(recorded(15, 4, 3.5) == Row{5, 2});
  CHECK(recorded(20, 4, 2) == Row{20, 0});
  CHECK(progress.best_val_loss == 2);
  CHECK(recorded(25, 1, 3) == Row{25, 0});
}

TEST_CASE("evaluations score the whole split within a quarter of the run, else a part within a tenth, or as asked") {
  const auto windows = [](std::int64_t val_tokens, std::int64_t interval, double ema = 0, std::int64_t eval_iters = 0) {
    Config config = small_config().config;
    config.model.block_size = 128;
    config.train.batch_size = 8;
    config.train.gradient_accumulation_steps = 1;
    config.train.ema = ema;
    config.eval.eval_iters = eval_iters;
    return windows_to_score(config, val_tokens, interval);
  };
  constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  // 250 steps of 1,024 tokens; three forward passes a step, and 1.25 or 2.25 a token of validation
  CHECK(windows(153'600, 250) == all);
  CHECK(windows(153'601, 250) == 61'440 / 128);
  CHECK(windows(153'600, 250, 0.99) == 34'133 / 128);
  CHECK(windows(1'000'000, 25) == 32'768 / 128);
  CHECK(windows(32'768, 25) == all);
  CHECK(windows(111'540, 0) == 32'768 / 128);  // under a clock
  CHECK(windows(1'000'000, 250, 0, 3) == 24);
}

TEST_CASE_METHOD(TestFolder, "a run saves ten minutes after its last save, between its evaluations too") {
  const auto clock = std::make_shared<FakeClock>();
  ResolvedConfig config = limited(40);
  config.config.eval = {.eval_interval = 100, .sample_tokens = 0};
  config.config.train.keep = 100;
  TrainerOptions options;
  options.run = path();
  clock->slower = [](const WorkEvent& event) { return event.what == "updating" ? 100 : 0; };  // 1 s a beat
  const double begun = clock->seconds;
  const auto run = timed_run(config, clock, options);
  CHECK(run->trainer.run() == Ending::finished);
  const auto saves = static_cast<std::int64_t>((clock->seconds - begun) / 600);
  CHECK(std::ssize(run->recorder->checkpoints) == saves + 1);
  CHECK(run->recorder->samples.empty());
}

TEST_CASE("evaluating more often changes no weight") {
  ResolvedConfig often = small_config(), seldom = small_config();
  often.config.eval.eval_interval = 1;
  seldom.config.eval.eval_interval = 100;
  EndedRun first(often), second(seldom);
  CHECK(first.recorder->losses() == second.recorder->losses());
  check_equal_bits(first.trainer.arena(), second.trainer.arena());
}

TEST_CASE_METHOD(TestFolder, "max_iters 0 evaluates and saves the untrained model") {
  SmallRun run(limited(0), path());
  CHECK(run.trainer.run() == Ending::finished);
  CHECK(run.recorder->evaluations.size() == 1);
  CHECK(last_checkpoint(path()).state.step == 0);
}

TEST_CASE("bfloat16 trains on the CPU, with a notice where that computes in float32") {
  ResolvedConfig config = small_config();
  config.config.train.dtype = Dtype::bfloat16;
  config.config.model.dropout = 0;
  config.config.train.max_iters = 60;
  EndedRun run(config);
  CHECK(run.recorder->evaluations.back().val_loss < run.recorder->evaluations.front().val_loss - 0.3);
  CHECK(run.recorder->noticed("it is computed in float32") == (cpu::bf16_kernels() == nullptr));
}
