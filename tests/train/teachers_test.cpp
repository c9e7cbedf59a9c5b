// Runs that learn from others: what they learn, that they repeat and resume, and which teachers are refused.
#include "train/teachers.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "failure.h"
#include "kept_windows.h"
#include "network/model.h"
#include "predict/network.h"
#include "run/checkpoint.h"
#include "token_text.h"
#include "twin.h"

using namespace chargpt;

namespace {

/// A run of `config`, trained to its end in `folder`.
std::string trained(const fs::path& folder, ResolvedConfig config = small_config(), Corpus corpus = small_corpus()) {
  config.config.train.max_iters = 40;
  config.config.train.learning_rate = 3e-2;
  config.config.train.keep = 99;
  fs::create_directories(folder);
  SmallRun(config, folder, -1, std::move(corpus)).trainer.run();
  return folder.string();
}

ResolvedConfig student_of(const Strings& teachers, double weight = 0.5) {
  ResolvedConfig config = small_config();
  config.config.train.teacher = teachers;
  config.config.train.teacher_weight = weight;
  return config;
}

/// Trains a run further, so that another checkpoint may become its best.
void train_on(const fs::path& folder) {
  const Checkpoint last = last_checkpoint(folder);
  ResolvedConfig config = last.config;
  config.config.train.max_iters = 80;
  ResumedRun run(config, folder, last);
  run.trainer.run();
}

/// Two teachers of other widths and seeds.
struct TwoTeachers {
  TwoTeachers() {
    ResolvedConfig wide = small_config();
    wide.config.model.n_embd = 24;
    wide.config.model.block_size = 12;
    wide.config.train.seed = 7;
    first = trained(folder.path() / "first");
    second = trained(folder.path() / "second", wide);
  }
  TestFolder folder;
  std::string first, second;
};

std::vector<double> predicted(const std::string& run, const WindowBatch& windows) {
  const Checkpoint checkpoint = load_checkpoint(run, "best");
  const InferenceModel model(checkpoint, Weights::better);
  const auto V = static_cast<std::size_t>(model.vocab_size());
  std::vector<float> logits(static_cast<std::size_t>(windows.numel()) * V);
  NetworkPredictor(model, 1).logits(windows, logits);
  std::vector<double> all;
  for (std::size_t row = 0; row < logits.size(); row += V)
    std::ranges::copy(softmax(std::span(logits).subspan(row, V)), std::back_inserter(all));
  return all;
}

}  // namespace

TEST_CASE_METHOD(TwoTeachers, "teachers say the mean of their probabilities, whatever their sizes and the threads") {
  const Corpus corpus = small_corpus();
  const ResolvedConfig config = student_of({first, second});
  const std::vector<std::int64_t> starts{3, 700, 41};
  const WindowBatch windows{.tokens = corpus.train(), .starts = starts, .T = 8};
  const std::vector<double> a = predicted(first, windows), b = predicted(second, windows);
  std::string caution;
  Teachers one(config, corpus, 1, {}, caution), three(config, corpus, 3, {}, caution);
  const std::span<const float> q = one.predict({&windows, 1}), same = three.predict({&windows, 1});
  REQUIRE(q.size() == a.size());
  CHECK(std::ranges::equal(q, same));
  double worst = 0;
  for (std::size_t i = 0; i < q.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(q[i]) - (a[i] + b[i]) / 2));
  CHECK(worst < 1e-6);
}

TEST_CASE_METHOD(TwoTeachers, "with weight 0 a student has the bits of a run without teachers, otherwise other ones") {
  SmallRun plain(small_config()), nothing(student_of({first}, 0)), half(student_of({first}, 0.5)),
      one(student_of({first, second}, 0.5));
  for (SmallRun* run : {&plain, &nothing, &half, &one}) run->trainer.run();
  check_equal_bits(plain.trainer.arena(), nothing.trainer.arena());
  CHECK(plain.recorder->losses() == nothing.recorder->losses());
  CHECK(half.recorder->losses() != plain.recorder->losses());
  CHECK(half.recorder->losses() != one.recorder->losses());
  CHECK(half.recorder->noticed("all losses are of the text alone"));
}

TEST_CASE_METHOD(TwoTeachers, "a step's loss is the text's whatever the weight, and weight 1 leads to the teacher") {
  ResolvedConfig config = student_of({first}, 1);
  config.config.model.dropout = 0;
  config.config.train.max_iters = 150;
  SmallRun student(config), plain([&] {
    ResolvedConfig alone = config;
    alone.config.train.teacher.clear();
    return alone;
  }());
  student.trainer.run();
  plain.trainer.step();
  CHECK(student.recorder->steps.front().loss == plain.recorder->steps.front().loss);
  const Corpus corpus = small_corpus();
  const std::vector<std::int64_t> starts{0, 100, 500, 900};
  const WindowBatch windows{.tokens = corpus.train(), .starts = starts, .T = 8};
  // Kullback-Leibler divergence of what the student says from what the teacher says, nats
  const auto divergence = [&](const std::string& run) {
    const std::vector<double> p = predicted(first, windows), q = predicted(run, windows);
    double total = 0;
    for (std::size_t i = 0; i < p.size(); ++i) total += p[i] * std::log(p[i] / q[i]);
    return total / static_cast<double>(windows.numel());
  };
  const TestFolder folder;
  ResolvedConfig short_run = config, long_run = config;
  short_run.config.train.max_iters = 1;
  fs::create_directories(folder.path() / "short");
  fs::create_directories(folder.path() / "long");
  SmallRun(short_run, folder.path() / "short").trainer.run();
  SmallRun(long_run, folder.path() / "long").trainer.run();
  const double before = divergence((folder.path() / "short").string()),
               after = divergence((folder.path() / "long").string());
  INFO("divergence " << before << ", then " << after);
  CHECK(after < 0.1 * before);
}

TEST_CASE_METHOD(TestFolder, "a student resumes bit for bit, from the same checkpoint of a teacher that went on") {
  const std::string teacher = trained(path() / "teacher");
  const ResolvedConfig config = student_of({teacher});
  const Course whole = check_resumes(config, {.step = 7}, {}, [&] { train_on(teacher); });
  CHECK(whole.state["teachers"].size() == 1);
}

TEST_CASE_METHOD(TwoTeachers, "teachers are kept by name and step") {
  const SmallRun run(student_of({first, second + "/checkpoints/step-00000040.safetensors"}));
  const std::vector<TeacherWeights>& kept = run.trainer.state().teachers;
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].name == "first");
  CHECK(kept[0].step == load_checkpoint(first, "best").state.step);
  CHECK(kept[1].name == "step-00000040.safetensors");
}

TEST_CASE_METHOD(TestFolder, "a teacher that sees its own targets is refused") {
  ResolvedConfig leaky = small_config("average");
  leaky.config.model.causal = false;
  const std::string teacher = trained(path() / "leaky", leaky);
  CHECK_THAT(message_of(ExitCode::usage, [&] { SmallRun{student_of({teacher})}; }),
             Catch::Contains("sees the symbols that it has to predict"));
}

TEST_CASE_METHOD(TestFolder, "teachers of another text or split are announced, and any type may teach") {
  const std::string elsewhere = trained(path() / "elsewhere", small_config(), small_corpus(formula_text(1300)));
  ResolvedConfig more = small_config("bigram");
  more.config.data.val_fraction = 0.05;
  const std::string later =
      trained(path() / "later", more, corpus_from_text(formula_text(1200), more.config.data, "a text"));
  const std::string same = trained(path() / "same");
  EndedRun run(student_of({elsewhere, later, same}));
  CHECK(run.recorder->noticed("mean of what 3 teachers predict"));
  CHECK(run.recorder->noticed("elsewhere/checkpoints/step-"));
  CHECK(
      run.recorder->noticed("was trained on another text (1300 tokens then, 1200 now): if that holds what is held "
                            "out here, validation losses are too low"));
  CHECK(run.recorder->noticed("was trained on another part of this text (data.val_fraction"));
  CHECK_THAT(run.trainer.caution(), Catch::StartsWith("a teacher was trained on another part of this text ("));
  CHECK_FALSE(run.recorder->noticed("same/checkpoints/step-"));
}
