// The progress and conditions of a run, which a checkpoint stores beside weights and moments. Pure data.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/events.h"
#include "text/corpus.h"

namespace chargpt {

/// How far a run has come; a resumed run takes it over as a whole. Random numbers are a function of (seed, step), so
/// there is no generator state.
struct RunProgress {
  static constexpr std::int64_t no_step = -1;
  std::int64_t step = 0;         ///< finished steps
  std::int64_t max_iters = 0;    ///< maximum number of steps; 0: unknown, the clock decides
  double seconds = 0;            ///< spent so far, earlier processes of a resumed run included
  double training_seconds = 0;   ///< of these, spent in steps
  double setup_seconds = 0;      ///< of these, before the first update of each process
  double closing_seconds = 0;    ///< duration of the last evaluation and save
  std::int64_t val_windows = 0;  ///< windows that each evaluation scores
  bool exact = false;            ///< val_windows are all windows, so the losses below are not estimates
  /// Under max_seconds: for each update, the share of the run (0 to 1) that was over before it. Stored as the tensor
  /// clock.shares, not in the JSON.
  std::vector<float> shares{};
  /// The loss at this step; infinite if it was not evaluated.
  double val_loss = std::numeric_limits<double>::infinity();
  double averaged_val_loss = std::numeric_limits<double>::infinity();  ///< of averaged weights, if any
  /// The least loss so far, of trained or averaged weights, if it is below that of guessing (ln V). A run that
  /// inherited weights starts with theirs.
  double best_val_loss = std::numeric_limits<double>::infinity();
  std::int64_t best_step = no_step;
  std::int64_t evals_without_improvement = 0;
  Ending ended = Ending::unknown;  ///< why the run ended at this step
};

/// A checkpoint that a run learns from.
struct TeacherWeights {
  std::string name;         ///< name of its run or file, without folders
  std::int64_t step = 0;    ///< step of the checkpoint
  std::uint64_t crc64 = 0;  ///< CRC-64 of all parameters
};

/// What a run consists of and runs on. A resumed run compares it with the checkpoint's: another text is refused, and
/// any difference that breaks bit-exactness becomes a notice.
struct RunConditions {
  Fingerprint data{};
  std::int64_t parameters = 0;
  /// The id that starts a sample without a prompt; see start_symbol() in train/conditions.h.
  std::int64_t start_symbol = 0;
  std::string program_version{}, libtorch_version{}, cpu_capability{}, device{}, engine{};
  std::int64_t threads = 0;                ///< per rank
  std::int64_t ranks = 1;                  ///< processes that train the run together
  std::vector<TeacherWeights> teachers{};  ///< the checkpoints of train.teacher
};

struct RunState : RunProgress, RunConditions {};

nlohmann::ordered_json to_json(const RunState& state);

/// Error data, naming `source`, if a field is missing, of another type or out of range.
RunState run_state_from_json(const nlohmann::json& json, const std::string& source);

/// The lower validation loss of trained and averaged weights at the state's step; infinite if it was not evaluated or
/// is NaN.
double evaluated_loss(const RunState& state);
/// The least validation loss so far; infinite if none was below that of guessing, or of the inherited weights.
double best_loss(const RunState& state);

}  // namespace chargpt
