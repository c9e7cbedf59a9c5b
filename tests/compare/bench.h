// What whole comparisons of tiny models take. Where the program would start a child, the run is trained here, and a
// child that only ends takes its place.
#pragma once

#include <atomic>
#include <map>
#include <optional>

#include "base/random.h"
#include "compare/compare.h"
#include "compare/planned_run.h"
#include "failure.h"
#include "hear.h"
#include "test_folder.h"

namespace chargpt {

/// A text that a small model soon learns: each letter is followed by one of two.
inline std::string letters(std::size_t size, std::uint64_t seed) {
  RandomStream random(seed, Purpose::windows);
  std::string text = "a";
  while (text.size() < size) text += static_cast<char>('a' + (text.back() - 'a' + 1 + 3 * random.below(2)) % 8);
  return text;
}

/// Such a text, configs that train on it, and options of comparisons whose runs are in `out`.
struct Bench : TestFolder {
  std::string text_file(const std::string& name, std::uint64_t seed = 1) const {
    return write(name, letters(4000, seed));
  }
  ResolvedConfig config_of(const std::string& name, const std::string& type = "bigram") const {
    ResolvedConfig resolved = parse_config("{}", name, {});
    Config& config = resolved.config;
    config.name = name;
    config.data.text = {text};
    config.model = {.type = type, .n_layer = 1, .n_head = 2, .n_embd = 8, .block_size = 8};
    config.train = {.batch_size = 4, .max_iters = 20, .learning_rate = 1e-2, .warmup_iters = 2, .seed = 50};
    config.eval = {.eval_interval = 10, .sample_tokens = 0};
    return resolved;
  }
  CompareOptions options_for(std::int64_t seeds) const {
    CompareOptions options;
    options.out = out;
    options.seeds = seeds;
    return options;
  }
  const std::string text = text_file("text");
  const fs::path out = path() / "out";
};

/// Trains runs in this process, and keeps what the hooks were told.
struct Record {
  Names begun, ended, reused, notices;
  std::map<std::string, std::int64_t> resumed;
  std::vector<std::int64_t> threads;  ///< of each training
  std::atomic<bool> stop = false;
  bool by_clock = false;  ///< time passes where steps are made or measured: so much at each beat of theirs
  double now = 1.0, seconds_of_a_beat = 0.01;
  PlannedTraining training = [this] {
    PlannedTraining training;
    training.trainer.device = "cpu";
    training.trainer.threads = 1;
    training.trainer.stop = &stop;
    return training;
  }();
  std::function<void(const PlannedRun&, Trainer&, std::optional<std::int64_t> resume_step)> listen = {};

  CompareHooks hooks() {
    CompareHooks hooks;
    hooks.start = [this](const PlannedRun& run, const Corpus&) { return start(run); };
    hooks.after_run = [this](const PlannedRun& run, const SeedRun&, bool was_reused) {
      (was_reused ? reused : ended).push_back(run.folder.filename());
    };
    hooks.notice = [this](const std::string& line) { notices.push_back(line); };
    return hooks;
  }

  /// Raises the stop flag at one step.
  void stop_at(Trainer& trainer, std::int64_t step) {
    hear<StepEvent>(trainer, [this, step](const StepEvent& event) {
      if (event.step == step) stop = true;
    });
  }

 private:
  std::unique_ptr<ChildProcess> start(const PlannedRun& run) {
    begun.push_back(run.folder.filename());
    training.run = run.folder;
    training.replays = run.replays;
    if (by_clock) training.trainer.clock = [this] { return now; };
    int code = 0;
    std::string said;
    try {
      const bool whole = train_planned(training, [&](Trainer& trainer, std::optional<std::int64_t> resume_step) {
        if (resume_step) resumed[run.folder.filename()] = *resume_step;
        threads.push_back(trainer.state().threads);
        if (by_clock)
          hear<WorkEvent>(trainer, [this](const WorkEvent& event) {
            if (event.what == "updating" || event.what == "measuring") now += seconds_of_a_beat;
          });
        if (listen) listen(run, trainer, resume_step);
      });
      code = whole ? 0 : 143;
    } catch (const Error& error) {
      code = static_cast<int>(error.code());
      said = "chargpt: error: " + std::string(error.what());
    }
    return std::make_unique<ChildProcess>(
        Names{"/bin/sh", "-c", "echo \"$0\" >&2; exit $1", said, std::to_string(code)});
  }
};

}  // namespace chargpt
