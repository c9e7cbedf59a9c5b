// Option by option: four updates equal two, stop, resume, two, to the bit, in every file of the last checkpoint. A new
// option of config.h fails here until it is listed.
#include "config/describe.h"
#include "config/load.h"
#include "twin.h"

using namespace chargpt;

namespace {

/// One option at each of these values, beside what else it takes to have an effect.
struct Setting {
  std::string key;
  std::vector<std::string> values;
  std::vector<Override> beside{};
};

const std::string muon_group = R"({"match": "attn|mlp", "learning_rate": 0.02, "optimizer": "muon", "momentum": 0.9})";
const std::string embedding_group = R"({"match": "wte", "learning_rate": 0.05})";

/// Booleans and choices take each of their values without being listed.
const std::vector<Setting> settings{
    {"data.val_fraction", {"0.3"}},
    {"data.test_fraction", {"0.2"}},
    {"data.max_val_tokens", {"50"}},
    {"model.type", {"bigram", "average", "masked", "attention", "gpt"}},
    {"model.n_layer", {"2"}},
    {"model.n_head", {"1"}},
    {"model.n_embd", {"12"}},
    {"model.block_size", {"5"}},
    {"model.head_size", {"3"}},
    {"model.mlp_size", {"5"}},
    {"model.dropout", {"0", "0.4"}},
    {"model.dropout_places", {"attention", "mlp,embedding"}},
    {"model.bias_places", {"attention,head", "mlp,norm"}, {{"model.bias", "true", ""}}},
    {"model.norm_eps", {"1e-3"}},
    {"model.rope_base", {"100"}, {{"model.position", "rope", ""}}},
    {"model.conv_places", {"attention", "mlp,attention"}},
    {"model.conv_width", {"2", "9"}, {{"model.conv_places", "mlp", ""}}},
    {"model.causal", {"false"}, {{"model.type", "average", ""}}},
    {"model.init_std", {"0.1"}},
    {"train.batch_size", {"3"}},
    {"train.gradient_accumulation_steps", {"3"}},
    {"train.max_iters", {"5"}},
    {"train.max_epochs", {"0.06"}},
    {"train.learning_rate", {"1e-3"}},
    {"train.min_lr", {"5e-3"}},
    {"data.documents", {"lines"}},
    {"data.separator", {"\\n"}},
    {"data.split_seed", {"3"}, {{"data.documents", "lines", ""}}},
    {"train.warmup_iters", {"3"}},
    {"train.lr_decay_iters", {"3"}},
    {"train.wsd_decay_fraction", {"0.7"}, {{"train.lr_schedule", "wsd", ""}}},
    {"train.weight_decay", {"0"}},
    {"train.beta1", {"0.5"}},
    {"train.beta2", {"0.8"}},
    {"train.adam_eps", {"1e-3"}},
    {"train.grad_clip", {"0", "0.1"}},
    {"train.ema", {"0.9"}},
    {"train.groups", {"[" + muon_group + "]", "[" + embedding_group + ", " + muon_group + "]"}},
    {"train.seed", {"7"}},
    {"train.patience", {"3"}, {{"train.learning_rate", "3", ""}, {"eval.eval_interval", "1", ""}}},
    {"train.keep", {"2"}},
    {"eval.eval_interval", {"0", "1", "3"}},
    {"eval.eval_iters", {"1"}},
    {"eval.sample_tokens", {"5"}},
};

const std::map<std::string, std::string> without_influence{
    {"data.text", "the corpus is given"},
    {"data.max_symbols", "only refuses texts"},
    {"train.max_seconds", "the length depends on the clock: endings_test.cpp"},
    {"eval.log_interval", "lines of metrics.jsonl alone"},
};

/// A run that others can learn from, trained when it is first asked for.
std::string teacher_run();

/// The listed settings of an option, or all values of a boolean or a choice.
std::vector<Setting> settings_of(const OptionInfo& option) {
  const std::string key = option.section + "." + option.name;
  std::vector<Setting> found;
  std::ranges::copy_if(settings, std::back_inserter(found), [&](const Setting& setting) { return setting.key == key; });
  if (key == "train.teacher") return {{key, {teacher_run()}}};
  if (key == "train.teacher_weight") return {{key, {"0.9"}, {{"train.teacher", teacher_run(), ""}}}};
  const std::string type = option.schema().value("type", "choice");
  if (found.empty() && type == "boolean") return {{key, {"false", "true"}}};
  if (found.empty() && type == "choice") return {{key, parts_of(option.range)}};
  return found;
}

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
  for (const OptionInfo& option : option_table()) {
    const std::string key = option.section + "." + option.name;
    if (option.section == "sample" || option.section == "groups" || without_influence.contains(key)) continue;
    const std::vector<Setting> listed = settings_of(option);
    if (listed.empty()) FAIL(key << " has no setting in resume_options_test.cpp, and no reason against one");
    for (const Setting& setting : listed)
      for (const std::string& value : setting.values) {
        INFO(key << " = " << value);
        std::vector<Override> overrides = setting.beside;
        std::erase_if(overrides, [&](const Override& beside) { return beside.key == key; });
        overrides.push_back({key, value, ""});
        check_resumes_on(tiny_config(overrides), 2);
      }
  }
}

TEST_CASE("every setting is of an option that exists") {
  std::set<std::string> known;
  for (const OptionInfo& option : option_table()) known.insert(option.section + "." + option.name);
  for (const Setting& setting : settings) CHECK(known.contains(setting.key));
  for (const auto& [key, reason] : without_influence) CHECK(known.contains(key));
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
