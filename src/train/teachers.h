// Trained runs that another run learns from (train.teacher): finds and loads them, checks that they fit, and averages
// their predictions. Independent of steps and losses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "config/load.h"
#include "network/window_scorer.h"
#include "run/checkpoint.h"
#include "text/corpus.h"

namespace chargpt {

class Teachers {
 public:
  /// Loads the checkpoints that train.teacher names, for a run that trains on `corpus`. From a run it takes the best
  /// checkpoint or, for a name in `then`, the step given there. Errors: usage for a teacher that sees its own
  /// targets or has shorter windows than this run; data for a teacher with another vocabulary, or with other weights
  /// than in `then`; as load_checkpoint and InferenceModel. `caution` is set if a teacher may know held-out text.
  Teachers(const ResolvedConfig& config, const Corpus& corpus, std::int64_t threads,
           const std::vector<TeacherWeights>& then, std::string& caution);

  /// Error usage if a teacher belongs to this run.
  void refuse_own(const std::filesystem::path& run) const;

  bool empty() const { return teachers_.empty(); }
  /// Name, step and checksum of each teacher, in the order of train.teacher.
  std::vector<TeacherWeights> weights() const;
  /// Notices: what the run learns from, and which teachers may have seen the validation split.
  const std::vector<std::string>& notices() const { return notices_; }

  // Teachers run on the windows of each step, not once on the whole train split. That needs no storage (65 symbols are
  // 260 MB of float32 for each MB of text) and no more time: `quick` sees a fifth of its 1 MB, `default` three times
  // all of it, and one pass over the split would need overlapping windows, which double the cost. Above all, a teacher
  // then has the same context as the student at each position.
  /// The mean of the teachers' distributions of the next symbol at every position: (B, T, V) of each micro-batch in
  /// order, probabilities. Empty without teachers; valid until the next call.
  std::span<const float> predict(std::span<const WindowBatch> micro_batches, const Heartbeat& heartbeat = {});

 private:
  struct Teacher;
  std::vector<std::shared_ptr<Teacher>> teachers_;
  std::vector<std::string> notices_;
  std::vector<float> q_, logits_;
};

}  // namespace chargpt
