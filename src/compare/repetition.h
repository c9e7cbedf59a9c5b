// A run trained again: every loss that it saved beside the one that comes now, and its weights beside those that are
// saved now. Knows no text, no engine and no command.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "report/events.h"

namespace chargpt {

/// bits: all losses and weights are the same. rounding: losses of the first 20 steps are within 1e-4 of what they were
/// (relatively), and those of all evaluations within 0.02.
CHARGPT_ENUM(Verdict, bits, rounding, differs);

struct Difference {
  std::int64_t step = 0;
  std::string what;          ///< "loss", "val_loss", …, as metrics.jsonl calls it; "weights"
  double then = 0, now = 0;  ///< NaN: none, or of "weights"
};

/// Listens to the second training, which must be given stop() as its own: it is set where `outside` is, at the first
/// loss that is beyond rounding, and after the last step of the first.
class Repetition : public Listener {
 public:
  using Listener::on;
  /// Reads the losses of the folder `run`, which may be damaged, up to step `last`, that of its last checkpoint.
  /// Errors: data if it has none; io.
  Repetition(const std::filesystem::path& run, std::int64_t last, const std::atomic<bool>& outside);

  void on(const WorkEvent&) override { look(); }
  void on(const StepEvent& event) override;
  void on(const EvalEvent& event) override;
  void on(const CheckpointEvent& event) override;
  const std::atomic<bool>& stop() const { return stop_; }

  /// Whether all there was to compare was, or enough to tell a difference.
  bool complete() const { return beyond_rounding_ || ended_; }
  /// After the training: the checkpoints that both have. Errors: those of load_checkpoint.
  void compare_weights(const std::filesystem::path& again);

  Verdict verdict() const;
  /// The first that is not the same bits; where the verdict is `differs`, the first that shows it. None: all is the
  /// same.
  std::optional<Difference> difference() const;
  std::int64_t losses() const { return compared_; }
  /// Whose weights are the same bits.
  const std::vector<std::int64_t>& same_weights() const { return same_weights_; }
  /// On lines of metrics.jsonl that are not JSON; empty if there are none.
  const std::string& complaint() const { return complaint_; }

 private:
  void look();
  void compare(std::int64_t step, const std::string& what, double now, double allowed);
  bool another_was_saved() const;

  std::filesystem::path run_;
  std::int64_t last_;
  const std::atomic<bool>& outside_;
  std::atomic<bool> stop_ = false;
  std::map<std::pair<std::int64_t, std::string>, double> saved_;  ///< losses that have not come yet
  bool last_evaluated_ = false, ended_ = false;
  std::int64_t compared_ = 0;
  std::optional<Difference> other_bits_, other_figure_, beyond_rounding_, other_weights_;
  std::vector<std::int64_t> same_weights_;
  std::string complaint_;
};

}  // namespace chargpt
