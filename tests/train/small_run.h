// Runs of a few steps on a text made of a formula, and what is recorded of them.
#pragma once

#include <cstdlib>
#include <set>

#include "run/checkpoints.h"
#include "test_folder.h"
#include "tiny_arena.h"
#include "train/trainer.h"

namespace chargpt {

/// What `--engine` names in these tests: `auto`, which is cpu, but where $CHARGPT_ENGINE says another.
inline std::string tested_engine() {
  const char* const name = std::getenv("CHARGPT_ENGINE");
  return name != nullptr ? name : "auto";
}

/// Every third letter of the alphabet, one letter further every eleven.
inline std::string formula_text(std::size_t size, const std::string& alphabet = "abcdefghijkl.\n") {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += alphabet[(3 * i + i / 11) % alphabet.size()];
  return text;
}

inline Corpus small_corpus(const std::string& text = formula_text(1200)) {
  return corpus_from_text(text, DataConfig{}, "a text");
}

/// 12 updates of 2 x 3 windows of 8; evaluated every 5.
inline ResolvedConfig small_config(const std::string& type = "gpt") {
  ResolvedConfig resolved;
  Config& config = resolved.config;
  config.name = "small";
  config.model = {.type = type, .n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 8, .dropout = 0.2};
  config.train = {.batch_size = 3,
                  .gradient_accumulation_steps = 2,
                  .max_iters = 12,
                  .learning_rate = 1e-2,
                  .min_lr = 1e-3,
                  .warmup_iters = 2};
  config.eval = {.eval_interval = 5, .sample_tokens = 6};
  return resolved;
}

/// Of "a|b|c", as options list their choices.
inline Names parts_of(const std::string& choices) {
  Names parts{""};
  for (const char c : choices) c == '|' ? parts.emplace_back() : parts.back() += c;
  return parts;
}

/// Keeps every event; `stop_at` raises a stop flag at that step.
class Recorder : public Listener {
 public:
  explicit Recorder(std::int64_t stop_at = -1) : stop_at_(stop_at) {}
  using Listener::on;
  void on(const PlanEvent& event) override { plans.push_back(event); }
  void on(const StepEvent& event) override {
    steps.push_back(event);
    if (event.step == stop_at_) stop = true;
  }
  void on(const EvalEvent& event) override { evaluations.push_back(event); }
  void on(const CheckpointEvent& event) override { checkpoints.push_back(event); }
  void on(const SampleEvent& event) override { samples.push_back(event); }
  void on(const NoticeEvent& event) override { notices.push_back(event.line); }
  void on(const EndEvent& event) override { ends.push_back(event); }
  /// Raises the stop flag in the midst of such work, once.
  void on(const WorkEvent& event) override {
    works.emplace(event.what);
    if (event.what == stop_in && event.step == stop_in_step && event.part > 0.3) {
      stop = true;
      stop_in.clear();
    }
  }

  std::vector<double> losses() const {
    std::vector<double> losses;
    for (const StepEvent& step : steps) losses.push_back(step.loss);
    return losses;
  }
  std::vector<std::int64_t> evaluated() const {
    std::vector<std::int64_t> steps;
    for (const EvalEvent& event : evaluations) steps.push_back(event.step);
    return steps;
  }
  bool noticed(const std::string& part) const { return any_has(notices, part); }

  std::atomic<bool> stop = false;
  std::vector<PlanEvent> plans;
  std::vector<StepEvent> steps;
  std::vector<EvalEvent> evaluations;
  std::vector<CheckpointEvent> checkpoints;
  std::vector<SampleEvent> samples;
  std::vector<std::string> notices;
  std::vector<EndEvent> ends;
  std::set<std::string> works;  ///< that there was
  std::string stop_in;
  std::int64_t stop_in_step = 0;

 private:
  std::int64_t stop_at_;
};

/// A trainer on the CPU with one thread, unless told otherwise, and its recorder.
struct SmallRun {
  explicit SmallRun(const ResolvedConfig& config, const fs::path& folder = {}, std::int64_t stop_at = -1,
                    Corpus corpus = small_corpus(), const std::string& device = "cpu", std::int64_t threads = 1)
      : recorder(std::make_shared<Recorder>(stop_at)),
        trainer(config, std::move(corpus),
                {.run = folder,
                 .device = device,
                 .engine = tested_engine(),
                 .threads = threads,
                 .stop = &recorder->stop,
                 .process_started = 0,
                 .program_version = "0.1.0"}) {
    trainer.add_listener(recorder);
  }
  /// With options of its own, but for the recorder's stop flag.
  SmallRun(const ResolvedConfig& config, TrainerOptions options, Corpus corpus = small_corpus())
      : recorder(std::make_shared<Recorder>()), trainer(config, std::move(corpus), [&] {
          options.device = "cpu";
          if (options.threads == 0) options.threads = 1;
          if (options.engine == "auto") options.engine = tested_engine();
          options.stop = &recorder->stop;
          return options;
        }()) {
    trainer.add_listener(recorder);
  }
  std::shared_ptr<Recorder> recorder;
  Trainer trainer;
};

/// One that is run to its end at once.
struct EndedRun : SmallRun {
  using SmallRun::SmallRun;
  const Ending ending = trainer.run();
};

/// One that a stop ends after this step.
struct StoppedRun : EndedRun {
  StoppedRun(const ResolvedConfig& config, const fs::path& folder, std::int64_t step, Corpus corpus = small_corpus(),
             const std::string& device = "cpu", std::int64_t threads = 1)
      : EndedRun(config, folder, step, std::move(corpus), device, threads) {
    REQUIRE(ending == Ending::stopped);
  }
};

inline Checkpoint last_checkpoint(const fs::path& run) {
  return load_checkpoint(run, "last", true);
}

/// One that goes on from a checkpoint, or from the last of its folder.
struct ResumedRun : SmallRun {
  ResumedRun(const ResolvedConfig& config, const fs::path& folder, const Checkpoint& from) : SmallRun(config, folder) {
    trainer.resume_from(from);
  }
  ResumedRun(const ResolvedConfig& config, const fs::path& folder)
      : ResumedRun(config, folder, last_checkpoint(folder)) {}
};

/// A listener that is a function.
template <class Event>
class Hearing : public Listener {
 public:
  explicit Hearing(std::function<void(const Event&)> body) : body_(std::move(body)) {}
  using Listener::on;
  void on(const Event& event) override { body_(event); }

 private:
  std::function<void(const Event&)> body_;
};

/// Calls `body` at each event of this kind: hear<StepEvent>(trainer, [&](const StepEvent& event) { … }).
template <class Event>
void hear(Trainer& trainer, std::function<void(const Event&)> body) {
  trainer.add_listener(std::make_shared<Hearing<Event>>(std::move(body)));
}

/// Time passes where there is work: so much at each of its beats, by the step and kind of work.
struct FakeClock {
  double seconds = 1000;
  std::function<double(const WorkEvent& event)> slower = {};
};

inline ResolvedConfig timed_config(double seconds) {
  ResolvedConfig config = small_config();
  config.config.train.max_iters = 0;
  config.config.train.max_seconds = seconds;
  config.config.eval = {.sample_tokens = 0};
  return config;
}

inline std::unique_ptr<SmallRun> timed_run(const ResolvedConfig& config, const std::shared_ptr<FakeClock>& clock,
                                           TrainerOptions options = {}, Corpus corpus = small_corpus()) {
  options.clock = [clock] { return clock->seconds; };
  auto run = std::make_unique<SmallRun>(config, options, std::move(corpus));
  hear<WorkEvent>(run->trainer, [clock](const WorkEvent& event) {
    if (event.what != "saving") clock->seconds += 0.01 * (clock->slower ? clock->slower(event) : 1);
  });
  return run;
}

inline void poison(Trainer& trainer) {
  std::ranges::fill(trainer.arena().values.all(), std::nanf(""));
}

/// Makes weights NaN after given steps, as a fault of the machine would.
inline void poison_after(Trainer& trainer, const std::vector<std::int64_t>& steps) {
  hear<StepEvent>(trainer, [&trainer, steps](const StepEvent& event) {
    if (std::ranges::count(steps, event.step) > 0) poison(trainer);
  });
}

/// Of two processes of a run.
template <class Rows>
Rows joined_rows(Rows rows, const Rows& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

/// Weights, moments and averages, bit for bit.
inline void check_equal_bits(ParameterArena& expected, ParameterArena& got) {
  CHECK(equal(expected.values, got.values));
  CHECK(equal(expected.moment1, got.moment1));
  CHECK(equal(expected.moment2, got.moment2));
  CHECK(equal(expected.averages, got.averages));
  CHECK(expected.updates() == got.updates());
}

}  // namespace chargpt
