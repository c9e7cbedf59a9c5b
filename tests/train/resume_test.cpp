// n + m steps equal n, stop, resume, m: bit for bit.
#include <torch/types.h>

#include "base/error.h"
#include "small_run.h"

#include "test.h"

using namespace chargpt;

namespace {

/// Equal, or both not there.
bool same(const torch::Tensor& a, const torch::Tensor& b) {
  return a.defined() && b.defined() ? torch::equal(a, b) : a.defined() == b.defined();
}

void check_equal_bits(ParameterArena& expected, ParameterArena& got) {
  for (std::size_t i = 0; i < expected.groups().size(); ++i) {
    INFO("group " << expected.groups()[i].name);
    CHECK(torch::equal(expected.groups()[i].values, got.groups()[i].values));
    CHECK(same(expected.groups()[i].moment1, got.groups()[i].moment1));
    CHECK(same(expected.groups()[i].moment2, got.groups()[i].moment2));
  }
  CHECK(expected.updates() == got.updates());
}

/// Stops after step `stop_at`, goes on in a new trainer, and compares with a run that was not stopped.
void check_resumes_exactly(const ResolvedConfig& config, std::int64_t stop_at) {
  const TemporaryFolder folder;
  SmallRun whole(config);
  whole.trainer.run();
  SmallRun first(config, folder.path(), stop_at);
  REQUIRE(first.trainer.run() == Ending::stopped);
  SmallRun second(config, folder.path());
  second.trainer.resume_from(last_checkpoint(folder.path()));
  CHECK(second.trainer.run() == Ending::finished);

  std::vector<double> losses = first.recorder->losses();
  const std::vector<double> rest = second.recorder->losses();
  losses.insert(losses.end(), rest.begin(), rest.end());
  CHECK(losses == whole.recorder->losses());
  CHECK(second.recorder->evaluations.back().val_loss == whole.recorder->evaluations.back().val_loss);
  CHECK(second.trainer.state().best_val_loss == whole.trainer.state().best_val_loss);
  CHECK(second.trainer.state().best_step == whole.trainer.state().best_step);
  check_equal_bits(whole.trainer.arena(), second.trainer.arena());
}

}  // namespace

TEST_CASE("every model type resumes bit for bit, with dropout and accumulation, in both window modes") {
  for (const ModelType& type : model_types()) {
    for (const Windows windows : {Windows::random, Windows::shuffled}) {
      INFO(type.name << ", " << enum_name(windows));
      ResolvedConfig config = small_config(std::string(type.name));
      config.config.train.windows = windows;
      check_resumes_exactly(config, 7);
    }
  }
}

TEST_CASE("every update rule resumes bit for bit, tables of which few rows are stored among them") {
  ResolvedConfig config = small_config();
  config.config.model.ngram_orders = {2, 3, 5};
  config.config.model.ngram_rows = {210, 4000, 300};
  config.config.train.groups = {
      {.match = "ngram.5", .learning_rate = 1e-2, .weight_decay = 0.1, .optimizer = UpdateRule::adamw, .momentum = 0},
      {.match = "ngram\\.",
       .learning_rate = 1e-2,
       .weight_decay = 0.1,
       .optimizer = UpdateRule::sparse_adam,
       .momentum = 0},
      {.match = "(attn|mlp).*weight",
       .learning_rate = 1e-2,
       .weight_decay = 0.1,
       .optimizer = UpdateRule::muon,
       .momentum = 0.9}};
  for (const std::int64_t ngram_size : {0, 6}) {
    config.config.model.ngram_size = ngram_size;
    check_resumes_exactly(config, 7);
    check_resumes_exactly(config, 1);
  }
}

TEST_CASE("a checkpoint holds the moments that the rules keep, and of tables the rows that are not zero") {
  const TemporaryFolder folder;
  ResolvedConfig config = small_config();
  config.config.model.ngram_orders = {3};
  config.config.model.ngram_rows = {4000};
  config.config.train.groups = {
      {.match = "ngram", .learning_rate = 1e-2, .weight_decay = 0, .optimizer = UpdateRule::sparse_adam, .momentum = 0},
      {.match = "c_attn", .learning_rate = 1e-2, .weight_decay = 0, .optimizer = UpdateRule::muon, .momentum = 0.9}};
  SmallRun run(config, folder.path());
  run.trainer.run();
  const Checkpoint checkpoint = last_checkpoint(folder.path());
  const std::string table = "transformer.ngram.3.weight", matrix = "transformer.h.0.attn.c_attn.weight";
  CHECK_FALSE(checkpoint.model->find(table));
  const std::int64_t stored = checkpoint.model->find(table + ".rows")->shape[0];
  CHECK(stored > 10);
  CHECK(stored < 200);  // a text of 14 symbols in a pattern has few trigrams
  CHECK(checkpoint.model->find(table + ".values")->shape == std::vector<std::int64_t>{stored, 16});
  const auto has = [&](const std::string& name) { return checkpoint.optimizer->find(name) != nullptr; };
  CHECK(has("moment2/" + table + ".rows"));
  CHECK_FALSE(has("moment1/" + table + ".rows"));
  CHECK(has("moment1/" + matrix));
  CHECK_FALSE(has("moment2/" + matrix));
  CHECK(has("moment2/transformer.wte.weight"));
}

TEST_CASE("measuring leaves no trace on tables either") {
  ResolvedConfig config = small_config();
  config.config.model.ngram_orders = {3};
  config.config.model.ngram_rows = {400};
  config.config.train.groups = {{.match = "ngram",
                                 .learning_rate = 1e-2,
                                 .weight_decay = 0,
                                 .optimizer = UpdateRule::sparse_adam,
                                 .momentum = 0}};
  SmallRun measured(config), plain(config);
  measured.trainer.plan(true);
  for (int step = 0; step < 3; ++step) CHECK(measured.trainer.step().loss == plain.trainer.step().loss);
  check_equal_bits(plain.trainer.arena(), measured.trainer.arena());
}

TEST_CASE("resuming at an evaluated step, and at step 1, is exact too") {
  check_resumes_exactly(small_config(), 5);
  check_resumes_exactly(small_config(), 1);
}

TEST_CASE("a run stopped before its first step starts again from it") {
  const TemporaryFolder folder;
  SmallRun stopped(small_config(), folder.path());
  stopped.recorder->stop = true;
  CHECK(stopped.trainer.run() == Ending::stopped);
  SmallRun resumed(small_config(), folder.path()), whole(small_config());
  resumed.trainer.resume_from(last_checkpoint(folder.path()));
  resumed.trainer.run();
  whole.trainer.run();
  CHECK(resumed.recorder->losses() == whole.recorder->losses());
}

TEST_CASE("groups of their own, and max_iters raised on resume, go on") {
  const TemporaryFolder folder;
  ResolvedConfig config = small_config();
  config.config.train.groups = {
      {.match = "wte", .learning_rate = 2e-2, .weight_decay = 0, .optimizer = UpdateRule::adamw}};
  SmallRun first(config, folder.path());
  first.trainer.run();
  config.config.train.max_iters = 15;
  SmallRun second(config, folder.path());
  second.trainer.resume_from(last_checkpoint(folder.path()));
  second.trainer.run();
  CHECK(second.recorder->steps.size() == 3);
  CHECK(second.recorder->noticed("changed: train.max_iters 12 -> 15"));
}

TEST_CASE("a finished run that is resumed does nothing") {
  const TemporaryFolder folder;
  SmallRun first(small_config(), folder.path());
  first.trainer.run();
  SmallRun second(small_config(), folder.path());
  second.trainer.resume_from(last_checkpoint(folder.path()));
  CHECK(second.trainer.run() == Ending::finished);
  CHECK(second.recorder->steps.empty());
  CHECK(second.recorder->checkpoints.empty());
}

TEST_CASE("another text is refused") {
  const TemporaryFolder folder;
  SmallRun first(small_config(), folder.path());
  first.trainer.run();
  std::string text = formula_text(1200);
  std::swap(text[100], text[101]);
  SmallRun same_length(small_config(), folder.path(), -1, small_corpus(text));
  SmallRun longer(small_config(), folder.path(), -1, small_corpus(formula_text(1300)));
  CHECK_THROWS_WITH(same_length.trainer.resume_from(last_checkpoint(folder.path())),
                    Catch::Contains("as long, but other characters"));
  CHECK_THROWS_WITH(longer.trainer.resume_from(last_checkpoint(folder.path())),
                    Catch::Contains("1200 tokens then, 1300 now"));
}

TEST_CASE("other conditions are announced, and seconds add up over processes") {
  const TemporaryFolder folder;
  SmallRun first(small_config(), folder.path(), 6);
  first.trainer.run();
  Checkpoint checkpoint = last_checkpoint(folder.path());
  checkpoint.state.threads = 64;
  checkpoint.state.seconds = 1000;
  SmallRun second(small_config(), folder.path());
  second.trainer.resume_from(checkpoint);
  second.trainer.run();
  CHECK(second.recorder->noticed("not bit-exact: the number of threads was 64"));
  CHECK(second.recorder->steps.front().seconds > 1000);
  CHECK(second.recorder->steps.front().seconds < 1100);
}
