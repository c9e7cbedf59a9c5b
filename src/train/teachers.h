// Trained runs that another run learns from (train.teacher): found, loaded, held against what it trains on, and the
// mean of what they say. Knows no step and no loss.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/load.h"
#include "network/window_scorer.h"
#include "run/checkpoint.h"
#include "text/corpus.h"
#include "train/communicator.h"

namespace chargpt {

class Teachers {
 public:
  /// The checkpoints that train.teacher names, of a run its best, for a run that trains on `corpus`; where `then` has
  /// one of the same name, of a run that step. Errors: usage for a teacher that is named twice, sees its own targets,
  /// or whose windows are shorter than this run's; data for one of another vocabulary; else as load_checkpoint and
  /// InferenceModel. `caution`: who may have seen the validation split, if any.
  Teachers(const ResolvedConfig& config, const Corpus& corpus, std::int64_t threads,
           const std::vector<TeacherWeights>& then, std::string& caution);
  ~Teachers();
  Teachers(const Teachers&) = delete;
  Teachers& operator=(const Teachers&) = delete;

  /// Error usage if a teacher belongs to this run.
  void refuse_own(const std::filesystem::path& run) const;

  bool empty() const { return teachers_.empty(); }
  /// What they are, in the order of train.teacher.
  std::vector<TeacherWeights> weights() const;
  /// Lines for people: what is learned, and who may have seen the validation split.
  const std::vector<std::string>& notices() const { return notices_; }

  // Teachers run on the windows of each step rather than once over the train split. It costs no memory (65 symbols are
  // 260 MB of float32 for each MB of text), no more time (`quick` sees a fifth of 1 MB, `default` three times all of
  // it; windows that overlap by half, without which a window's first places would have no context, are two passes), and
  // a teacher then knows just what the student can know at each place.
  /// The mean of their distributions of the next symbol, of every place of the windows: (B, T, V).
  void predict(const WindowBatch& windows, std::span<float> q);

 private:
  struct Teacher;
  std::vector<std::unique_ptr<Teacher>> teachers_;
  std::vector<std::string> notices_;
  std::vector<float> logits_;
};

/// Error data where a teacher that `checkpoint` learned from has other weights now. Teachers changed by an option
/// are not compared.
void refuse_changed_teachers(const Checkpoint& checkpoint, const RunConditions& now);

/// Error data, the same on every rank, where they do not all have the same teachers.
void check_same_teachers(Communicator& ranks, const std::vector<TeacherWeights>& weights);

}  // namespace chargpt
