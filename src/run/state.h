// How far a run is and what it consists of: what a checkpoint keeps beside weights and moments. Pure data.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/events.h"
#include "text/corpus.h"

namespace chargpt {

/// How far a run has come: a resumed run takes it whole. Randomness is a function of (seed, step), so no generator
/// state is here.
struct RunProgress {
  static constexpr std::int64_t no_step = -1;
  std::int64_t step = 0;         ///< finished
  std::int64_t max_iters = 0;    ///< steps that the run may make; 0: unknown, the clock decides
  double seconds = 0;            ///< spent so far, over all processes
  double training_seconds = 0;   ///< of these, in steps
  double setup_seconds = 0;      ///< of these, before the first update of each process
  double closing_seconds = 0;    ///< that the last evaluation and save took
  std::int64_t val_windows = 0;  ///< that each evaluation scores
  bool exact = false;            ///< these are all windows, so that the losses below are no estimates
  /// Under max_seconds, of each update: the share of the run that was done before it. The checkpoint's tensor
  /// clock.shares, not part of its JSON.
  std::vector<float> shares{};
  /// At this step, if it was evaluated.
  double val_loss = std::numeric_limits<double>::infinity();
  double averaged_val_loss = std::numeric_limits<double>::infinity();  ///< of averaged weights, if there are any
  /// The least so far of the better of the two, below that of guessing; where weights were inherited, at first theirs.
  double best_val_loss = std::numeric_limits<double>::infinity();
  std::int64_t best_step = no_step;
  std::int64_t evals_without_improvement = 0;
  Ending ended = Ending::unknown;  ///< why there is no later step
};

/// A checkpoint that a run learns from.
struct TeacherWeights {
  std::string name;         ///< of its run or file, without folders
  std::int64_t step = 0;    ///< of the checkpoint
  std::uint64_t crc64 = 0;  ///< CRC-64 of all parameters
};

/// What a run consists of and runs on. Resuming compares it with the checkpoint's: another text is refused, a
/// difference after which the bits do not repeat is announced.
struct RunConditions {
  Fingerprint data{};
  std::int64_t parameters = 0;
  /// Id that a sample without a prompt starts from: newline, or the text's most frequent.
  std::int64_t start_symbol = 0;
  std::string program_version{}, libtorch_version{}, cpu_capability{}, device{}, engine{};
  std::int64_t threads = 0;                ///< of each rank
  std::int64_t ranks = 1;                  ///< processes that train it together
  std::vector<TeacherWeights> teachers{};  ///< of train.teacher
};

struct RunState : RunProgress, RunConditions {};

nlohmann::ordered_json to_json(const RunState& state);

/// Error data naming `source` if a field is missing, of another type or out of range.
RunState run_state_from_json(const nlohmann::json& json, const std::string& source);

/// The lower of the losses of trained and averaged weights at the state's own step; infinite if it was not evaluated
/// or the loss is not a number.
double evaluated_loss(const RunState& state);

}  // namespace chargpt
