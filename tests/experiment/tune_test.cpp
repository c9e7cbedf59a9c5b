// Whole searches, on a text in which each letter is followed by one of two, and by a clock of which every look takes a
// fifth of a millisecond: what they find depends on no machine's speed. Candidates are trained in this process.
#include "experiment/tune.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/memory.h"
#include "experiment/planned_run.h"
#include "failure.h"
#include "inference/model_types.h"
#include "inference/parameter_groups.h"
#include "letters.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

Corpus corpus_of(const std::string& text) {
  return corpus_from_text(text, DataConfig{}, "a text");
}

/// Its rates are a thousandth of what this model wants.
ResolvedConfig slow_config() {
  ResolvedConfig resolved =
      parse_config(R"({"name": "slow", "data": {"text": "letters.txt"}, "train": {"max_iters": 3000}})", "slow", {});
  resolved.config.model = {.n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = 8};
  resolved.config.train = {.batch_size = 4, .max_iters = 3000, .learning_rate = 1e-5, .min_lr = 1e-6};
  return resolved;
}

TuneOptions options_of(double seconds) {
  TuneOptions options;
  options.seconds = seconds;
  options.trainer.device = "cpu";
  options.trainer.threads = 1;
  options.trainer.clock = [seconds = std::make_shared<double>(1000.0)] { return *seconds += 2e-4; };
  return options;
}

/// The search of these options, whose candidates train here; none of `train` is used.
Tuning tuned_here(const ResolvedConfig& config, const Corpus& corpus, TuneOptions options) {
  options.train = [&](const PlannedRun& candidate) -> std::optional<Trained> {
    Trainer trainer(candidate.options, train_split_of(corpus), options.trainer);
    if (trainer.run() == Ending::stopped) return std::nullopt;
    return Trained{.steps = trainer.state().step, .loss = trainer.state().val_loss};
  };
  return tune(config, corpus, options);
}

/// One whose candidates have the loss that `loss` says, after ten steps.
Tuning tuned_by(const ResolvedConfig& config, TuneOptions options, const std::function<double(const Config&)>& loss) {
  options.train = [&](const PlannedRun& candidate) {
    return Trained{.steps = 10, .loss = loss(candidate.options.config)};
  };
  return tune(config, corpus_of(letters(4000)), options);
}

ExitCode code_of(const ResolvedConfig& config, const TuneOptions& options) {
  return error_of([&] { tuned_by(config, options, [](const Config&) { return 1; }); }).code;
}

}  // namespace

TEST_CASE("a search from rates far too low ends with higher ones and a lower loss, within its time") {
  const Tuning tuning = tuned_here(slow_config(), corpus_of(letters(4000)), options_of(6));
  REQUIRE(tuning.complete);
  CHECK(tuning.spent_seconds > 4);
  CHECK(tuning.spent_seconds < 12);
  CHECK(tuning.centre > 1);
  CHECK(tuning.best().candidate.rates > 1);
  REQUIRE(tuning.best().last_round() == 3);
  REQUIRE(tuning.before().last_round() == 3);
  CHECK(tuning.best().rounds.back().loss < tuning.before().rounds.back().loss - 0.1);
  // 4,000 characters: 3,600 to train, of which the last tenth is held out and the first of that predicted by nothing
  CHECK(tuning.train_tokens == 3240);
  CHECK(tuning.scored_tokens == 359);

  const Config found = tuned_config(tuning);
  CHECK(found.name == "slow-tuned");
  CHECK(found.train.learning_rate > 1e-5);
  CHECK(found.train.max_iters > 0);
  const ResolvedConfig base = load_config("nanogpt-cpu");
  const std::string text = tuned_text(tuning, {"nanogpt-cpu", base.config, "chargpt tune nanogpt-cpu --n_layer 1"});
  CHECK(to_json(parse_config(text, "tuned.json", {}).config) == to_json(found));
  CHECK(text.find("// Found by `chargpt tune nanogpt-cpu --n_layer 1`") == 0);
  CHECK(text.find("\"extends\": \"nanogpt-cpu\"") != std::string::npos);
  CHECK(text.find("// train.learning_rate was 1e-05") != std::string::npos);
  CHECK(text.find("\"block_size\": 8") != std::string::npos);  // of the command line: the base does not have it
  CHECK(text.find("block_size was") == std::string::npos);     // nor has the search another
  CHECK(text.find("beta1") == std::string::npos);
  CHECK(text.find("the validation split was not used") != std::string::npos);

  const nlohmann::ordered_json json = to_json(tuning);
  CHECK(json["trials"].size() == tuning.trials.size());
  CHECK(json["trials"][0]["trainings"].size() == 3);
  CHECK(to_table(tuning).text().find("as it is") != std::string::npos);
}

TEST_CASE("the validation split has no part in the range test") {
  std::string other = letters(4000);
  for (std::size_t i = 3600; i < other.size(); ++i) other[i] = 'a';
  const Tuning one = tuned_here(slow_config(), corpus_of(letters(4000)), options_of(0.5));
  const Tuning two = tuned_here(slow_config(), corpus_of(other), options_of(0.5));
  REQUIRE(one.range.size() > 3);
  REQUIRE(one.range.size() == two.range.size());
  for (std::size_t i = 0; i < one.range.size(); ++i) CHECK(one.range[i].loss == two.range[i].loss);
  CHECK(one.scored_tokens == two.scored_tokens);
}

TEST_CASE("of a text without a validation split a tenth is held out") {
  const Corpus whole = corpus_from_text(letters(4000), {.val_fraction = 0}, "a text");
  CHECK(whole.val().size() == 0);
  CHECK(train_split_of(whole).val().size() == 400);
}

TEST_CASE("where the time is over in the last round, the best of that before and the config as it is still train") {
  TuneOptions options = options_of(1000);
  double late = 0;
  bool in_last_round = false;
  std::vector<std::string> trained;  // in that
  options.trainer.clock = [&late, clock = options.trainer.clock] { return late + clock(); };
  options.told = [&](const std::string& line) { in_last_round |= line.starts_with("round 3 of 3: "); };
  options.train = [&](const PlannedRun& candidate) {
    if (in_last_round) {
      trained.push_back(candidate.config);
      late = 2000;
    }
    return Trained{.steps = 10, .loss = candidate.config == "as it is" ? 2.0 : 1.0};
  };
  const Tuning tuning = tune(slow_config(), corpus_of(letters(4000)), options);
  REQUIRE(tuning.rounds.back().candidates > 2);
  REQUIRE(trained.size() == 2);
  CHECK(trained[0] == describe(tuning.best().candidate));
  CHECK(trained[1] == "as it is");
}

TEST_CASE("a candidate above the memory cap is not tried, and a config above it is refused") {
  ResolvedConfig large = slow_config();
  large.config.model.n_embd = 512;  // one and a half times the width takes 60 MB more
  TuneOptions options = options_of(1);
  const auto wider = [&] {
    const Tuning tuning = tuned_by(large, options, [](const Config&) { return 1; });
    return std::ranges::count_if(tuning.trials, [](const Trial& trial) { return trial.candidate.width > 1; });
  };
  CHECK(wider() > 0);
  constexpr std::int64_t little = 8'000'000;
  options.memory = resident_memory();
  std::optional<std::int64_t> found;
  while (!found) {  // what the process holds already counts, and grows with each try
    try {
      found = wider();
    } catch (const Error& error) {
      REQUIRE(error.code() == ExitCode::memory);
      options.memory += little;
    }
  }
  CHECK(found == 0);
}

TEST_CASE("a depth that the model has no use for is not tried") {
  ResolvedConfig bigram = slow_config();
  bigram.config.model.type = "bigram";
  const Tuning tuning = tuned_by(bigram, options_of(0.5), [](const Config&) { return 1; });
  CHECK(tuning.trials.size() > 3);
  for (const Trial& trial : tuning.trials) CHECK(trial.config.model.n_layer == 1);
}

TEST_CASE("what was found is written as what differs from the config it began from, and trains as it is") {
  struct Case {
    const char *text, *unchanged;
  };
  for (const Case& one :
       {Case{R"({"extends": "default", "train": {"groups": [{"match": ".", "learning_rate": 0.01}]}})",
             "\"learning_rate\": 0.002"},
        Case{R"({"extends": "default", "train": {"lr_schedule": "constant"}})", "min_lr"},
        Case{R"({"extends": "default", "train": {"max_seconds": 9}})", "max_iters"}}) {
    const ResolvedConfig start = parse_config(one.text, "start", {});
    const Tuning tuning = tuned_by(start, options_of(1), [&](const Config& config) {
      return config.train.batch_size == start.config.train.batch_size ? 2.0 : 1.0;
    });
    CHECK(tuning.best().config.train.batch_size != start.config.train.batch_size);
    const Config base = load_config("default").config;
    const std::string text = tuned_text(tuning, {"default", base, "chargpt tune start.json"});
    const ResolvedConfig found = parse_config(text, "tuned.json", {});
    CHECK(to_json(found.config) == to_json(tuned_config(tuning)));
    CHECK_NOTHROW(refuse_unused(found));
    CHECK(text.find(one.unchanged) == std::string::npos);
  }
}

TEST_CASE("a tuned length takes as long as the config's own did, in steps and in epochs") {
  Tuning tuning{.start = load_config("default").config, .train_tokens = 10'000, .full_seconds = 60};
  tuning.start.train.lr_decay_iters = 1500;
  Trial& best = tuning.trials.emplace_back(Trial{.candidate = {.rates = 2}, .config = tuning.start});
  best.rounds = {{.round = 1, .seconds = 20, .steps = 100, .loss = 1}};
  TrainConfig train = tuned_config(tuning).train;
  CHECK(train.max_iters == 300);
  CHECK(train.max_epochs == 30.7);  // of 1,024 tokens each
  CHECK(train.lr_decay_iters == 0);
  best.config.train.max_iters = 0;
  train = tuned_config(tuning).train;
  CHECK(train.max_iters == 0);
  CHECK(train.max_epochs == 30.7);
  CHECK(train.lr_decay_iters == 0);
}

TEST_CASE("trainings of a search decay to their own end, and seconds that are a config's length are its full time") {
  ResolvedConfig config = slow_config();
  config.config.train.max_iters = 0;
  config.config.train.max_seconds = 9;
  config.config.train.lr_decay_iters = 1500;
  std::set<std::int64_t> decays;
  const Tuning tuning = tuned_by(config, options_of(1), [&](const Config& candidate) {
    decays.insert(candidate.train.lr_decay_iters);
    return 1.0;
  });
  CHECK(decays == std::set<std::int64_t>{0});
  CHECK(tuning.full_seconds == 9);
  config.config.train.max_iters = 10;  // which end long before that
  CHECK(tuned_by(config, options_of(1), [](const Config&) { return 1; }).full_seconds < 9);
}

TEST_CASE("a candidate warms up for a tenth of the steps that its size leaves it in its time") {
  ResolvedConfig config = slow_config();  // of 3,000 steps
  config.config.train.warmup_iters = 1'000'000;
  std::vector<Config> trained;
  const Tuning tuning = tuned_by(config, options_of(1000), [&](const Config& candidate) {
    trained.push_back(candidate);
    return 1.0;
  });
  const std::int64_t symbols = corpus_of(letters(4000)).vocabulary().size();
  const auto size = [symbols](const Config& of) {
    return static_cast<double>(count_parameters(of.model, symbols) * tokens_per_step(of));
  };
  const double full_size = size(config.config);
  for (const Config& candidate : trained) {
    const double steps = 3000 * candidate.train.max_seconds / tuning.full_seconds * full_size / size(candidate);
    CHECK(std::abs(static_cast<double>(candidate.train.warmup_iters) - steps / 10) <= 1);
  }
}

TEST_CASE("a centre far below the config's rates is told with the digits that it has") {
  ResolvedConfig config = slow_config();
  config.config.train.learning_rate = 1000;
  std::string told;
  TuneOptions options = options_of(0.5);
  options.told = [&told](const std::string& line) { told += line + "\n"; };
  CHECK(tuned_by(config, options, [](const Config&) { return 1; }).centre == Approx(0.01));
  CHECK(told.find("searching around 0.010 times the config's learning rates") != std::string::npos);
}

TEST_CASE("what cannot be tuned is refused") {
  CHECK(code_of(slow_config(), options_of(0)) == ExitCode::usage);
  ResolvedConfig leaking = slow_config();
  leaking.config.model.type = "average";
  leaking.config.model.causal = false;
  CHECK(code_of(leaking, options_of(1)) == ExitCode::usage);
}

TEST_CASE("stopped, whenever that is, a search is not complete, and what was measured stands") {
  std::size_t measured = 0;
  for (const int looks : {0, 10, 100, 200, 300, 400, 500, 700, 1000, 1500, 3000, 8000, 12'000}) {
    std::atomic<bool> stop = false;
    TuneOptions options = options_of(5);
    options.trainer.stop = &stop;
    options.trainer.clock = [&stop, left = std::make_shared<int>(looks), clock = options.trainer.clock] {
      stop = (*left)-- <= 0;
      return clock();
    };
    const Tuning tuning = tuned_here(slow_config(), corpus_of(letters(4000)), options);
    CHECK_FALSE(tuning.complete);
    if (!tuning.any_trained()) continue;
    ++measured;
    const std::string text = tuned_text(tuning, {"default", load_config("default").config, "chargpt tune"});
    CHECK(to_json(parse_config(text, "tuned.json", {}).config) == to_json(tuned_config(tuning)));
    CHECK(to_json(tuning)["complete"] == false);
  }
  CHECK(measured > 0);
}

TEST_CASE("a candidate that fails is the last, and the search goes on") {
  TuneOptions options = options_of(1);
  options.train = [](const PlannedRun& candidate) {
    const bool wide = candidate.options.config.model.n_embd > 16;
    if (!wide) return Trained{.steps = 10, .loss = 2};
    return Trained{.loss = std::numeric_limits<double>::infinity(),
                   .failure = Error(ExitCode::memory, "it was killed")};
  };
  const Tuning tuning = tune(slow_config(), corpus_of(letters(4000)), options);
  CHECK(tuning.complete);
  CHECK(tuning.best().config.model.n_embd <= 16);
  CHECK(to_table(tuning).text().find("failed") != std::string::npos);
}

TEST_CASE("where all trainings of a round fail, what was measured before is the best; where all fail, it is an error") {
  std::set<std::string> trained;
  bool all_fail = false;
  TuneOptions options = options_of(1);
  options.train = [&](const PlannedRun& candidate) {
    if (trained.insert(candidate.config).second && !all_fail) return Trained{.steps = 10, .loss = 2};
    return Trained{.loss = std::numeric_limits<double>::infinity(),
                   .failure = Error(ExitCode::memory, "it was killed")};
  };
  const auto search = [&] { return tune(slow_config(), corpus_of(letters(4000)), options); };
  const Tuning tuning = search();
  CHECK(tuning.any_trained());
  CHECK(tuning.best().last_round() == 1);
  all_fail = true;
  CHECK(error_of(search) ==
        Failure{ExitCode::memory, "every training of the search failed; slow as it is: it was killed"});
}

}  // namespace chargpt
