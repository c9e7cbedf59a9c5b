// The progress of a run on the terminal: its plan, a status line, and a line per evaluation. Takes the time from the
// events. Independent of streams and clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/events.h"
#include "report/status_line.h"

namespace chargpt {

struct ProgressOptions {
  std::size_t columns = 0;  ///< terminal width: the last line is repainted; 0: plain lines
  bool color = false;
  bool quiet = false;    ///< prints nothing, or with `brief` only the repainted line; errors are logged
  bool brief = false;    ///< only the repainted line and notices
  bool verbose = false;  ///< also checkpoints and samples
};

/// Exponential moving average: weight `rate` (1 - rate)^age, with bias correction as in Adam. Ignores values that are
/// not finite.
class SmoothedValue {
 public:
  explicit SmoothedValue(double rate) : rate_(rate) {}
  void add(double value);
  /// NaN before the first value.
  double value() const { return weight_ > 0 ? sum_ / weight_ : std::numeric_limits<double>::quiet_NaN(); }

 private:
  double rate_, sum_ = 0, weight_ = 0;
};

/// The current state of a run, from its events.
struct RunStatus {
  /// `rate`: weight of the newest step in the averages of loss and speed.
  explicit RunStatus(double rate) : loss(rate), tokens_per_second(rate) {}
  /// Call when a process starts or continues the run. `of` 0: the number of steps is unknown.
  void begin(std::int64_t at, std::int64_t of, bool sees_targets);
  void on(const StepEvent& event);
  void on(const EvalEvent& event);
  /// Parts of a status line: step, loss, time left (of an ended run: time used), best validation loss, speed. Unknown
  /// parts are empty.
  std::vector<std::string> parts(bool ended = false) const;
  /// Extrapolates from the time since this process's first step, evaluations and saving included. NaN or infinite
  /// before the second step.
  double seconds_left() const { return (seconds - first_seconds) * (1 - share) / (share - first_share); }

  std::int64_t step = 0, max_iters = 0;
  double share = 0, seconds = 0, first_share = missing, first_seconds = missing;
  bool leaks = false;
  std::string best = {};  ///< validation loss; empty: unknown
  SmoothedValue loss, tokens_per_second;

 private:
  static constexpr double missing = std::numeric_limits<double>::quiet_NaN();
};

class ProgressPrinter : public Listener {
 public:
  ProgressPrinter(ProgressOptions options, StatusLine::Sink sink)
      : options_(options), line_(options.columns, std::move(sink)) {}
  void on(const PlanEvent& event) override;
  void on(const StepEvent& event) override;
  void on(const EvalEvent& event) override;
  void on(const CheckpointEvent& event) override;
  void on(const SampleEvent& event) override;
  void on(const NoticeEvent& event) override;
  void on(const WorkEvent& event) override;
  /// Clears the repainted line; call before writing anything else to the terminal.
  void finish() { line_.clear(); }

 private:
  bool shows_status() const { return options_.brief ? options_.columns > 0 : !options_.quiet; }
  void print(const std::string& lines);

  ProgressOptions options_;
  StatusLine line_;
  RunStatus status_{0.05};
  double guessing_ = 0;    ///< the loss if all symbols were equally likely
  double work_begun_ = 0;  ///< seconds
};

/// Formats the plan as aligned lines, wrapped between words at `width` columns (0: no wrapping). `--dry-run` prints it
/// too.
std::string plan_text(const PlanEvent& plan, std::size_t width = 0);

}  // namespace chargpt
