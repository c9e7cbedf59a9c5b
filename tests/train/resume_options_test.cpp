// Option by option: four updates equal two, stop, resume, two, to the bit, in every file of the last checkpoint.
#include "failure.h"
#include "option_values.h"
#include "twin.h"

using namespace chargpt;

namespace {

const std::map<std::string, std::string> without_influence{
    {"data.text", "the corpus is given"},
    {"data.max_symbols", "only refuses texts"},
    {"train.max_seconds", "the length depends on the clock: endings_test.cpp"},
    {"eval.log_interval", "lines of metrics.jsonl alone"},
};

/// Four updates of two windows of 8, of which no evaluation falls on the second.
ResolvedConfig tiny_config(const std::vector<Override>& overrides) {
  ResolvedConfig resolved = small_config();
  Config& config = resolved.config;
  config.model.n_layer = 1;
  config.model.n_embd = 8;
  config.train.batch_size = 2;
  config.train.gradient_accumulation_steps = 1;
  config.train.max_iters = 4;
  config.train.warmup_iters = 1;
  config.eval = {.eval_interval = 4, .sample_tokens = 0};
  apply_overrides(resolved, overrides);
  return resolved;
}

std::string teacher_run() {
  static const TestFolder folder;
  static const bool trained = [] {
    SmallRun(tiny_config({}), folder.path(), -1, small_corpus()).trainer.run();
    return true;
  }();
  return trained ? folder.path().string() : "";
}

/// Whether a config and its text take these values.
bool can_be_trained(const std::vector<Override>& overrides) {
  return error_of([&] {
           const ResolvedConfig config = tiny_config(overrides);
           SmallRun(config, {}, -1, corpus_from_text(formula_text(1200), config.config.data, "a text"));
         }).code == ExitCode::ok;
}

/// Stops it after two of its updates.
Course check_resumes_on(const ResolvedConfig& config, std::int64_t threads) {
  TrainerOptions options;
  options.threads = threads;
  Course whole = check_resumes(config, {.step = 2}, options);
  CHECK(whole.steps.size() > 2);
  return whole;
}

}  // namespace

TEST_CASE("every option of text, model, training and evaluation resumes bit for bit with two threads") {
  const std::map<std::string, OptionValues> of_four_updates{
      {"train.max_iters", {{"5"}}},
      {"train.patience", {{"3"}, {{"train.learning_rate", "3", ""}, {"eval.eval_interval", "1", ""}}}},
      {"train.teacher", {{teacher_run()}}},
      {"train.teacher_weight", {{"0.9"}, {{"train.teacher", teacher_run(), ""}}}}};
  const auto now = to_json(tiny_config({}).config);
  for (const OptionInfo& option : option_table()) {
    const std::string key = option.key();
    if (option.section == "sample" || option.section == "groups" || without_influence.contains(key)) continue;
    const auto found = of_four_updates.find(key);
    const OptionValues tried =
        found != of_four_updates.end() ? found->second : other_values(option, now.at(option.section).at(option.name));
    int resumed = 0;
    for (const std::string& value : tried.values) {
      INFO(key << " = " << value);
      std::vector<Override> overrides = tried.beside;
      overrides.push_back({key, value, ""});
      if (!can_be_trained(overrides)) continue;
      check_resumes_on(tiny_config(overrides), 2);
      ++resumed;
    }
    INFO(key);
    CHECK(resumed > 0);
  }
}

TEST_CASE("in a resumed run patience runs out where it did") {
  const std::vector<Override> impatiently{{"train.patience", "3", ""},
                                          {"train.learning_rate", "3", ""},
                                          {"eval.eval_interval", "1", ""},
                                          {"train.max_iters", "20", ""}};
  const Course course = check_resumes_on(tiny_config(impatiently), 1);
  CHECK(course.state["ended"] == "patience");
  CHECK(course.steps.size() < 20);
}

namespace {

/// With as many threads, of batches of two windows.
void check_resumes_on_threads(const std::vector<Override>& overrides) {
  for (const std::int64_t threads : {1, 2, 3, 5}) {
    INFO(threads << " threads, " << overrides.size() << " options");
    check_resumes_on(tiny_config(overrides), threads);
  }
}

const std::vector<Override> everything{{"train.groups", "[" + embedding_group + ", " + muon_group + "]", ""},
                                       {"train.gradient_accumulation_steps", "2", ""},
                                       {"train.ema", "0.9", ""}};

}  // namespace

TEST_CASE("runs resume bit for bit with one thread, several, and more than there are windows", "[threads]") {
  check_resumes_on_threads({});
  check_resumes_on_threads(everything);
}

TEST_CASE("runs resume bit for bit in bfloat16 too, with any number of threads") {
  std::vector<Override> rounded = everything;
  rounded.push_back({"train.dtype", "bfloat16", ""});
  check_resumes_on_threads(rounded);
}
