// What happens in a run, as plain data: the trainer emits these, listeners print, write and draw. What an end means to
// its reader. Knows no tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"

namespace chargpt {

/// Before the first step: what is about to happen.
struct PlanEvent {
  std::string config, run, device, cpu_capability, engine, dtype, model_type;
  std::string model_shape = {};  ///< "4 layers, 4 heads, width 128"; empty for models without blocks
  std::int64_t threads = 0, parameters = 0, vocab_size = 0, train_tokens = 0, val_tokens = 0, test_tokens = 0;
  std::int64_t text_files = 0, text_tokens = 0;  ///< that the text was read from; all that it has
  std::int64_t tokens_per_step = 0, start_step = 0;
  std::int64_t max_iters = 0;                   ///< under a clock an estimate
  bool by_clock = false;                        ///< max_seconds decides how many steps there are
  std::string length_set_by = {};               ///< the option that determined max_iters: "train.max_epochs", …
  std::vector<std::string> longer_limits = {};  ///< the other limits that were set and are longer
  double epochs = 0;
  std::optional<std::int64_t> memory_bytes;  ///< measured: the process's peak of main memory
  std::int64_t disk_bytes = 0;               ///< of the checkpoints kept
  std::optional<double> seconds;             ///< estimated from a few measured steps
  bool leaks = false;                        ///< the model sees its own targets; its loss means nothing
  std::vector<std::string> left_out = {};    ///< files in folders of the text that are not texts
  std::vector<std::string> notices = {};     ///< anything else a user should know before the first step
};

/// One training step. `step` counts finished steps (1 after the first); `loss` in nats per token, of the batch before
/// its update.
struct StepEvent {
  std::int64_t step = 0, max_iters = 0;  ///< max_iters 0: unknown, the clock decides
  double share = 0;                      ///< of the run that is done
  double loss = 0, lr = 0, grad_norm = 0, tokens_per_second = 0;
  double seconds = 0;  ///< since process start, summed over resumed processes
  /// Of the step, spent in summing with other ranks and waiting for them; none where there are none.
  std::optional<double> rank_seconds = {};
};

struct EvalEvent {
  std::int64_t step = 0;
  std::optional<double> train_loss;
  double val_loss = 0;
  std::optional<double> averaged_val_loss = {};  ///< of the averaged weights, if there are any
  bool best = false, exact = true, leaks = false;
  double best_val_loss = 0;  ///< infinite: none was better than guessing
  double seconds = 0;
  double training_seconds = 0;  ///< of these, spent in steps: without start-up, evaluations, samples and saves
};

struct CheckpointEvent {
  std::int64_t step = 0;
  std::filesystem::path path;
  bool best = false;
};

struct SampleEvent {
  std::int64_t step = 0;
  std::string text;
};

struct NoticeEvent {
  std::string line;
  bool detail = false;  ///< shown with --verbose only
};

/// Progress of work that may take long: emitted several times a second, first with part 0.
struct WorkEvent {
  static constexpr double no_parts = -1;
  std::string_view what;  ///< "evaluating"
  double part = 0;        ///< the part of it that is done, 0 to 1; no_parts: it takes a while, and how long is unknown
  std::int64_t step = 0;
  double seconds = 0;  ///< since process start, summed over resumed processes
};

/// finished: all steps are done. patience: train.patience evaluations in a row were no better. seconds:
/// train.max_seconds are used. stopped: by a signal. diverged: loss or weights were not finite. unknown: it goes on, or
/// it was killed.
CHARGPT_ENUM(Ending, unknown, finished, patience, seconds, stopped, diverged);

/// The end of a run.
struct EndEvent {
  Ending ended = Ending::unknown;
  std::int64_t step = 0, max_iters = 0;  ///< max_iters 0: not known
  std::int64_t patience = 0;             ///< train.patience
  double max_seconds = 0;                ///< train.max_seconds
  double seconds = 0;                    ///< since process start, summed over resumed processes
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on(const PlanEvent&) {}
  virtual void on(const StepEvent&) {}
  virtual void on(const EvalEvent&) {}
  virtual void on(const CheckpointEvent&) {}
  virtual void on(const SampleEvent&) {}
  virtual void on(const NoticeEvent&) {}
  virtual void on(const WorkEvent&) {}
  virtual void on(const EndEvent&) {}
};

/// Why, for people: "ended by patience after 440 of 600 steps: no better validation loss in the last 2 evaluations".
std::string why_ended(const EndEvent& end);

/// The command that continues `run`: for twice as many steps or seconds where it used up those that it had.
std::string command_to_go_on(const EndEvent& end, const std::string& run);

}  // namespace chargpt
