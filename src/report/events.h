// Events of a run as plain data: the trainer emits them; listeners print, write and draw them. Also explains why a run
// ended. Independent of tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"

namespace chargpt {

/// Emitted before the first step: the plan of the run.
struct PlanEvent {
  std::string config, run, device, cpu_capability, engine, dtype, model_type;
  std::string model_shape = {};  ///< "4 layers, 4 heads, width 128"; empty for models without blocks
  std::int64_t threads = 0, parameters = 0, vocab_size = 0, train_tokens = 0, val_tokens = 0, test_tokens = 0;
  std::int64_t text_files = 0, text_tokens = 0;  ///< number of files and of tokens of the whole text
  std::int64_t tokens_per_step = 0, start_step = 0;
  std::int64_t max_iters = 0;      ///< an estimate if by_clock
  bool by_clock = false;           ///< train.max_seconds limits the number of steps
  std::string length_set_by = {};  ///< the option that determined max_iters: "train.max_epochs", …
  double epochs = 0;
  std::optional<std::int64_t> memory_bytes;  ///< measured peak of main memory
  std::int64_t disk_bytes = 0;               ///< size of the kept checkpoints
  std::optional<double> seconds;             ///< estimated from a few measured steps
  bool leaks = false;                        ///< the model sees its own targets; its loss is meaningless
  std::vector<std::string> left_out = {};    ///< files in the text's folders that are not text
  std::vector<std::string> notices = {};     ///< other notes for the user
};

/// One training step. `step` counts finished steps (1 after the first). `loss`: nats per token of the batch, before its
/// update.
struct StepEvent {
  std::int64_t step = 0, max_iters = 0;  ///< max_iters 0: unknown, as train.max_seconds limits the run
  double share = 0;                      ///< finished fraction of the run, 0 to 1
  double loss = 0, lr = 0, grad_norm = 0, tokens_per_second = 0;
  double seconds = 0;  ///< since process start, summed over resumed processes
};

struct EvalEvent {
  std::int64_t step = 0;
  std::optional<double> train_loss;
  double val_loss = 0;
  std::optional<double> averaged_val_loss = {};  ///< of the averaged weights; nullopt without them
  bool best = false, exact = true, leaks = false;
  double best_val_loss = 0;  ///< infinite: no evaluation was better than guessing
  double seconds = 0;
  double training_seconds = 0;  ///< part of `seconds` spent in steps, without start-up, evaluations, samples and saves
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
  std::int64_t step = 0;
};

/// Progress of long work; emitted several times a second, first with part 0.
struct WorkEvent {
  static constexpr double no_parts = -1;
  std::string_view what;  ///< "evaluating"
  double part = 0;        ///< finished fraction, 0 to 1; no_parts: the duration is unknown
  std::int64_t step = 0;
  double seconds = 0;  ///< since process start, summed over resumed processes
};

/// finished: all steps are done. patience: validation loss did not improve in train.patience evaluations in a row.
/// seconds: train.max_seconds elapsed. stopped: by a signal. diverged: loss or weights were not finite. unknown: still
/// running, or killed.
CHARGPT_ENUM(Ending, unknown, finished, patience, seconds, stopped, diverged);

/// The end of a run.
struct EndEvent {
  Ending ended = Ending::unknown;
  std::int64_t step = 0, max_iters = 0;  ///< max_iters 0: unknown
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

/// Describes the end: "ended by patience after 440 of 600 steps, because validation loss no longer improved".
std::string why_ended(const EndEvent& end);

/// Returns the command that continues `run`; it doubles the limit if the run used up its steps or seconds.
std::string command_to_go_on(const EndEvent& end, const std::string& run);

}  // namespace chargpt
