#include "train/trainer.h"

#include "base/files.h"
#include "checkpoint/checkpoint.h"
#include "engine/torch_module.h"
#include "evaluate/split_loss.h"
#include "failure.h"
#include "kernels/needs_bf16.h"
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

/// A rate and a model without normalisation that overflow within a few steps.
ResolvedConfig diverging_config() {
  ResolvedConfig config = small_config();
  config.config.model.norm = Norm::none;
  config.config.model.final_norm = false;
  config.config.model.dropout = 0;
  config.config.train.max_iters = 400;
  config.config.train.learning_rate = 1000;
  config.config.train.weight_decay = 1;
  config.config.eval = {.eval_interval = 1, .sample_tokens = 0};
  return config;
}

/// The same, whose steps are skipped then.
ResolvedConfig skipping_config() {
  ResolvedConfig config = diverging_config();
  config.config.train.on_nonfinite = OnNonfinite::skip;
  config.config.eval.eval_interval = 1000;
  return config;
}

bool all_finite(const SafetensorsFile& file) {
  for (const TensorView& tensor : file.tensors())
    for (std::size_t i = 0; i < tensor.bytes.size(); i += 4) {
      float value = 0;
      std::memcpy(&value, tensor.bytes.data() + i, 4);
      if (!std::isfinite(value)) return false;
    }
  return true;
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

TEST_CASE("the untrained loss is near ln V and belongs to no best") {
  EndedRun run(small_config());
  const EvalEvent& untrained = run.recorder->evaluations.front();
  const double guessing = std::log(static_cast<double>(run.trainer.corpus().vocabulary().size()));
  CHECK(untrained.val_loss == Approx(guessing).margin(0.05));
  REQUIRE(untrained.train_loss);
  CHECK(*untrained.train_loss == Approx(guessing).margin(0.05));
  CHECK_FALSE(untrained.best);
  CHECK(untrained.exact);
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

TEST_CASE("the plan says what is about to happen") {
  ResolvedConfig config = small_config();
  config.config.train.keep = 2;
  SmallRun run(config, "runs/small");
  const PlanEvent plan = run.trainer.plan(false);
  CHECK(plan.config == "small");
  CHECK(plan.run == "runs/small");
  CHECK(plan.device == "cpu");
  CHECK(plan.engine == (tested_engine() == "auto" ? "cpu" : tested_engine()));
  CHECK(plan.dtype == "float32");
  CHECK(plan.model_type == "gpt");
  CHECK(plan.threads == 1);
  CHECK(plan.parameters == run.trainer.arena().numel());
  CHECK(plan.train_tokens == 1080);
  CHECK(plan.val_tokens == 120);
  CHECK(plan.tokens_per_step == 3 * 2 * 8);
  CHECK(plan.epochs == Approx(12 * 48 / 1080.0));
  CHECK(plan.memory_bytes > 16 * plan.parameters);
  CHECK(plan.disk_bytes == 3 * 12 * plan.parameters);
  CHECK_FALSE(plan.seconds);
  CHECK_FALSE(plan.leaks);
}

TEST_CASE("a plan is measured by steps, where that is asked for") {
  SmallRun run(small_config());
  CHECK_FALSE(run.trainer.plan(false).seconds);
  CHECK(run.trainer.plan(true).seconds > 0.0);
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

TEST_CASE("max_epochs becomes max_iters, and the schedule follows") {
  SmallRun run(limited(0, 2));
  CHECK(run.trainer.plan(false).max_iters == 45);  // 2 * 1080 tokens at 48 a step
  CHECK(run.trainer.config().config.train.max_iters == 45);
  CHECK(run.trainer.config().origin.at("train.max_iters") == "train.max_epochs");
}

TEST_CASE("of several limits the shortest ends the run, and the plan says which") {
  SmallRun by_epochs(limited(1000, 2, 3600));
  const PlanEvent plan = by_epochs.trainer.plan(false);
  CHECK(plan.max_iters == 45);
  CHECK(plan.length_set_by == "train.max_epochs");
  CHECK(plan.longer_limits == std::vector<std::string>{"train.max_iters", "train.max_seconds"});
  CHECK(by_epochs.trainer.config().origin.at("train.max_iters") == "train.max_epochs, instead of 1000 (default)");

  SmallRun by_seconds(limited(100'000, 1e6, 0.5));
  const PlanEvent other = by_seconds.trainer.plan(false);
  CHECK(other.max_iters < 100'000);
  CHECK(other.length_set_by == "train.max_seconds");
  CHECK(other.longer_limits == std::vector<std::string>{"train.max_iters", "train.max_epochs"});

  SmallRun run(limited(12, 1e6));
  CHECK(run.trainer.plan(false).max_iters == 12);
  CHECK(run.trainer.plan(false).length_set_by == "train.max_iters");
}

TEST_CASE("the config of a run limited by epochs is that run again, and on another text its own limits hold") {
  SmallRun first(limited(0, 0.25)), second(limited(12, 0.25));
  ResolvedConfig again = first.trainer.config(), lowered = second.trainer.config();
  CHECK(SmallRun(again).trainer.plan(false).max_iters == first.trainer.state().max_iters);
  again.config.train.max_epochs = lowered.config.train.max_epochs = 2;  // as on a text four times as long
  CHECK(SmallRun(again).trainer.plan(false).max_iters == 45);
  CHECK(second.trainer.state().max_iters == 6);
  const PlanEvent longer = SmallRun(lowered).trainer.plan(false);
  CHECK(longer.max_iters == 12);
  CHECK(longer.length_set_by == "train.max_iters");
  lowered.config.train.max_epochs = 0;
  CHECK(SmallRun(lowered).trainer.plan(false).max_iters == 12);
  ResolvedConfig of_old_run = second.trainer.config();
  of_old_run.origin["train.max_iters"] = "lowered by train.max_epochs";
  CHECK(SmallRun(of_old_run).trainer.plan(false).max_iters == 6);
}

TEST_CASE_METHOD(TestFolder, "time spent in updates is counted apart, over resumed processes too") {
  EndedRun run(small_config(), path());
  const double first = run.recorder->evaluations.back().training_seconds;
  CHECK(first > 0);
  CHECK(first < run.recorder->evaluations.back().seconds);
  CHECK(run.recorder->evaluations.front().training_seconds == 0);

  ResumedRun resumed(limited(20), path());
  resumed.trainer.run();
  CHECK(resumed.recorder->evaluations.back().training_seconds > first);
}

TEST_CASE_METHOD(TestFolder, "a stop finishes the step, saves and evaluates nothing") {
  SmallRun run(small_config(), path(), 7);
  CHECK(run.trainer.run() == Ending::stopped);
  CHECK(run.trainer.state().step == 7);
  CHECK(run.recorder->evaluated() == std::vector<std::int64_t>{0, 5});
  CHECK(steps_of(run.recorder->checkpoints) == std::vector<std::int64_t>{5, 7});
  CHECK(std::isinf(last_checkpoint(path()).state.val_loss));  // that of step 5 is not of these weights
}

TEST_CASE_METHOD(TestFolder, "a run that diverges says so and leaves its last finite checkpoint") {
  SmallRun run(diverging_config(), path());
  const std::string line = message_of(ExitCode::diverged, [&] { run.trainer.run(); });
  const Checkpoint kept = last_checkpoint(path());
  CHECK_THAT(line, Catch::Contains("the last good checkpoint is " + kept.path.string()) &&
                       Catch::Contains("lower train.learning_rate = 1000"));
  CHECK_THAT(line, !Catch::Contains("train.grad_clip"));  // it is set
  CHECK(all_finite(*kept.model));
}

TEST_CASE_METHOD(TestFolder, "a resumed run that diverges before it saves names the checkpoint that it began with") {
  StoppedRun first(small_config(), path(), 7);
  const Checkpoint stopped = last_checkpoint(path());
  ResumedRun second(small_config(), path(), stopped);
  poison(second.trainer);
  CHECK_THAT(message_of(ExitCode::diverged, [&] { second.trainer.step(); }),
             Catch::Contains("the last good checkpoint is " + stopped.path.string()));
}

TEST_CASE("skipped steps count, are announced, and end a run after a hundred in a row") {
  ResolvedConfig config = skipping_config();
  SmallRun run(config);
  CHECK_THROWS_WITH(run.trainer.run(), Catch::Contains("training diverged: step ") &&
                                           Catch::Contains("the 100th skipped in a row") &&
                                           Catch::Contains("no checkpoint had been saved yet"));
  CHECK(run.recorder->noticed(": skipped"));
  CHECK_FALSE(run.recorder->noticed("-nan"));
  CHECK(run.recorder->noticed("(its windows start at "));
  CHECK(run.recorder->noticed(" of the train split; largest gradient norms: "));
}

TEST_CASE("a step that is not skipped ends the row of skips") {
  ResolvedConfig config = small_config();
  config.config.train.on_nonfinite = OnNonfinite::skip;
  SmallRun run(config);
  const ArenaSnapshot sound = run.trainer.arena().snapshot();
  poison(run.trainer);
  run.trainer.step();
  CHECK(run.trainer.state().skips_in_a_row == 1);
  run.trainer.arena().restore(sound);
  run.trainer.step();
  CHECK(run.trainer.state().skips_in_a_row == 0);
}

TEST_CASE_METHOD(TestFolder, "skips in a row are counted on over a stop and a resume") {
  ResolvedConfig config = skipping_config();
  SmallRun whole(config);
  CHECK_THROWS_AS(whole.trainer.run(), Error);
  const std::int64_t last = whole.trainer.state().step;
  StoppedRun first(config, path(), last - 40);
  CHECK(first.trainer.state().skips_in_a_row == 59);  // the 100th is step last + 1
  ResumedRun second(config, path());
  CHECK_THROWS_WITH(second.trainer.run(), Catch::Contains("the 100th skipped in a row"));
  CHECK(second.trainer.state().step == last);
}

TEST_CASE_METHOD(TestFolder, "a run resumed under another policy than skip has skipped nothing") {
  ResolvedConfig config = skipping_config();
  StoppedRun first(config, path(), 60);
  REQUIRE(first.trainer.state().skips_in_a_row > 0);
  config.config.train.on_nonfinite = OnNonfinite::stop;
  ResumedRun second(config, path());
  CHECK(second.trainer.state().skips_in_a_row == 0);
}

TEST_CASE_METHOD(TestFolder, "a checkpoint that cannot be written on the way is a notice, at the end an error") {
  std::ofstream(path() / "checkpoints") << "a file where the checkpoints should be";
  SmallRun run(small_config(), path());
  CHECK(error_of([&] { run.trainer.run(); }).code == ExitCode::io);
  CHECK(run.recorder->steps.size() == 12);
  CHECK(run.recorder->noticed("no checkpoint of step 5: "));
}

TEST_CASE_METHOD(TestFolder, "a BEST that could not be written with the last checkpoint is written when the run ends") {
  const std::filesystem::path best = path() / "checkpoints/BEST";
  SmallRun run(small_config(), path());
  // A folder of that name is in the way of the last save, and gone as soon as it is noticed.
  hear<StepEvent>(run.trainer, [&](const StepEvent& event) {
    if (event.step != 12) return;
    std::filesystem::remove(best);
    std::filesystem::create_directories(best / "in the way");
  });
  hear<NoticeEvent>(run.trainer, [&](const NoticeEvent& event) {
    if (event.line.find("BEST") != std::string::npos) std::filesystem::remove_all(best);
  });
  CHECK(run.trainer.run() == Ending::finished);
  CHECK(run.recorder->noticed("BEST"));
  CHECK(read_file(best) == checkpoint_name(run.trainer.state().best_step) + "\n");
}

TEST_CASE("a model that sees its targets is flagged wherever its loss is shown", "[libtorch]") {
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
    record_losses(progress, {.val = val, .train = 0, .averaged_val = averaged});
    return std::pair(progress.best_step, progress.evals_without_improvement);
  };
  using Row = std::pair<std::int64_t, std::int64_t>;
  CHECK(recorded(0, 1, std::nullopt).first <= 0);  // of weights that are not saved
  CHECK(recorded(5, 3, std::nullopt) == Row{5, 0});
  CHECK(recorded(10, 3, 4) == Row{5, 1});
  CHECK(recorded(15, 4, 3.5) == Row{5, 2});
  CHECK(recorded(20, 4, 2) == Row{20, 0});
  CHECK(progress.best_val_loss == 2);
  CHECK(recorded(25, 1, 3) == Row{25, 0});
}

TEST_CASE("evaluations of a long split score what keeps them within a tenth of the run, unless asked for more") {
  const auto batches = [](std::int64_t val_tokens, std::int64_t eval_interval, double ema, const std::string& origin) {
    ResolvedConfig resolved = small_config();
    Config& config = resolved.config;
    config.model.block_size = 128;
    config.train.batch_size = 8;
    config.train.gradient_accumulation_steps = 1;
    config.train.ema = ema;
    config.eval.eval_interval = eval_interval;
    config.eval.eval_iters = 0;
    resolved.origin["eval.eval_iters"] = origin;
    limit_evaluations_of_long_split(resolved, val_tokens);
    CHECK(scores_part_of_long_split(resolved) == (config.eval.eval_iters > 0));
    return config.eval.eval_iters;
  };
  CHECK(batches(131'072, 250, 0, "default") == 0);
  // 250 steps of 1,024 tokens; three forward passes a step, and 1.25 or 2.25 a token of validation
  CHECK(batches(1'000'000, 250, 0, "default") == 60);
  CHECK(batches(1'000'000, 250, 0.99, "preset default") == 33);
  CHECK(batches(1'000'000, 25, 0, "default") == 32);
  CHECK(batches(140'000, 100'000, 0, "default") == 0);  // which it can afford to score whole
  CHECK(batches(1'000'000, 250, 0, "--eval_iters") == 0);
  CHECK(batches(1'000'000, 250, 0, "mine.json:3") == 0);
}

TEST_CASE("another run's limit of evaluations, of its long split or its seconds, holds for no other text") {
  for (const std::string origin :
       {"a long validation split", "train.max_seconds, instead of 60 (a long validation split)"}) {
    INFO(origin);
    ResolvedConfig resolved = small_config();
    resolved.config.eval.eval_iters = 60;
    resolved.origin["eval.eval_iters"] = origin;
    limit_evaluations_of_long_split(resolved, 1000);
    CHECK(resolved.config.eval.eval_iters == 0);
    CHECK_FALSE(scores_part_of_long_split(resolved));
  }
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

TEST_CASE("what cannot work is refused before anything is made") {
  ResolvedConfig config = small_config();
  config.config.model.n_head = 5;
  CHECK_THROWS_AS(SmallRun(config), Error);
  config = small_config();
  config.config.model.block_size = 500;
  CHECK_THROWS_AS(SmallRun(config), Error);
  config = small_config();
  config.config.train.max_iters = 1;
  config.config.model.n_embd = 65536;
  config.config.model.n_layer = 100;
  CHECK_THROWS_WITH(SmallRun(config),
                    Catch::Contains("model.block_size = 8, model.n_embd = 65536 or model.n_layer = 100"));
}

TEST_CASE("bfloat16 trains on the CPU") {
  if (!has_torch_module() && needed_bf16_kernels() == nullptr) return;
  ResolvedConfig config = small_config();
  config.config.train.dtype = Dtype::bfloat16;
  config.config.model.dropout = 0;
  config.config.train.max_iters = 60;
  EndedRun run(config);
  CHECK(run.recorder->evaluations.back().val_loss < run.recorder->evaluations.front().val_loss - 0.3);
}
