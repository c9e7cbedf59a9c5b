// What a person watching a run sees: a plan, a status line, a line for each evaluation. Time is that of the events.
// Independent of streams and clocks.
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
  std::size_t columns = 0;  ///< of a terminal, whose last line is repainted; 0: plain lines
  bool color = false;
  bool quiet = false;    ///< nothing at all, or if `brief` the repainted line: errors go through the log
  bool brief = false;    ///< only the repainted line and notices
  bool verbose = false;  ///< also checkpoints, samples and details
};

/// Mean of the last values, newer ones counting more: weight `rate` (1 - rate)^age, corrected for the short start as in
/// Adam. Values that are not finite are left out.
class SmoothedValue {
 public:
  explicit SmoothedValue(double rate) : rate_(rate) {}
  void add(double value);
  /// NaN before the first value.
  double value() const { return weight_ > 0 ? sum_ / weight_ : std::numeric_limits<double>::quiet_NaN(); }

 private:
  double rate_, sum_ = 0, weight_ = 0;
};

/// Where a run is, by its events.
struct RunStatus {
  /// `rate`: how much the newest step counts in loss and speed.
  explicit RunStatus(double rate) : loss(rate), tokens_per_second(rate) {}
  /// A process starts, or continues, the run; `of` 0: its number of steps is unknown.
  void begin(std::int64_t at, std::int64_t of, bool sees_targets);
  void on(const StepEvent& event);
  void on(const EvalEvent& event);
  /// Step, loss, time left or, of an ended run, time used, best validation loss, speed: those that are known, for a
  /// status line.
  std::vector<std::string> parts(bool ended = false) const;
  /// By what passed since this process's first step, evaluations and saving included; NaN or infinite before the
  /// second.
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

/// The plan as a block of aligned lines, broken between words at `width` columns (0: nowhere); also what `--dry-run`
/// shows.
std::string plan_text(const PlanEvent& plan, std::size_t width = 0);

}  // namespace chargpt
