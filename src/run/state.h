// The progress and conditions of a run, which a checkpoint stores beside weights and moments. Pure data.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/events.h"
#include "text/corpus.h"

namespace chargpt {

// FIELD(type, name, default) is a member and its field in the state's JSON, which has them in this order.

#define CHARGPT_STATE_MEMBER(TYPE, NAME, ...) TYPE NAME{__VA_ARGS__};

// val_loss: at this step; infinite if it was not evaluated. averaged_val_loss: of averaged weights, if any.
// best_val_loss: the least so far, of trained or averaged weights, if it is below that of guessing (ln V). A run that
// inherited weights starts with theirs.
#define CHARGPT_RUN_PROGRESS(FIELD)                                                                   \
  FIELD(std::int64_t, step, 0)        /* finished steps */                                            \
  FIELD(std::int64_t, max_iters, 0)   /* maximum number of steps; 0: unknown, the clock decides */    \
  FIELD(double, seconds, 0)           /* spent so far, earlier processes of a resumed run included */ \
  FIELD(double, training_seconds, 0)  /* of these, spent in steps */                                  \
  FIELD(double, setup_seconds, 0)     /* of these, before the first update of each process */         \
  FIELD(double, closing_seconds, 0)   /* duration of the last evaluation and save */                  \
  FIELD(std::int64_t, val_windows, 0) /* windows that each evaluation scores */                       \
  FIELD(bool, exact, false)           /* val_windows are all windows: the losses are not estimates */ \
  FIELD(double, val_loss, HUGE_VAL)                                                                   \
  FIELD(double, averaged_val_loss, HUGE_VAL)                                                          \
  FIELD(double, best_val_loss, HUGE_VAL)                                                              \
  FIELD(std::int64_t, best_step, no_step)                                                             \
  FIELD(std::int64_t, evals_without_improvement, 0)                                                   \
  FIELD(Ending, ended, Ending::unknown) /* why the run ended at this step */

// start_symbol: the id that starts a sample without a prompt; see start_symbol() in train/conditions.h.
#define CHARGPT_RUN_CONDITIONS(FIELD)                                                      \
  FIELD(Fingerprint, data)                                                                 \
  FIELD(std::int64_t, parameters, 0)                                                       \
  FIELD(std::int64_t, start_symbol, 0)                                                     \
  FIELD(std::string, program_version)                                                      \
  FIELD(std::string, libtorch_version)                                                     \
  FIELD(std::string, cpu_capability)                                                       \
  FIELD(std::string, device)                                                               \
  FIELD(std::string, engine)                                                               \
  FIELD(std::int64_t, threads, 0)              /* per rank */                              \
  FIELD(std::int64_t, ranks, 1)                /* processes that train the run together */ \
  FIELD(std::vector<TeacherWeights>, teachers) /* the checkpoints of train.teacher */

/// How far a run has come; a resumed run takes it over as a whole. Random numbers are a function of (seed, step), so
/// there is no generator state.
struct RunProgress {
  static constexpr std::int64_t no_step = -1;
  CHARGPT_RUN_PROGRESS(CHARGPT_STATE_MEMBER)
  /// Under max_seconds: for each update, the share of the run (0 to 1) that was over before it. Stored as the tensor
  /// clock.shares, not in the JSON.
  std::vector<float> shares{};
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
  CHARGPT_RUN_CONDITIONS(CHARGPT_STATE_MEMBER)
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
