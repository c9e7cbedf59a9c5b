// What a person watching a run sees: a plan, one line that repaints itself (or now and then a plain one), a line for
// each evaluation. Writes to a sink it is given; time is that of the events. Knows no stream and no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "report/events.h"

namespace chargpt {

struct ProgressOptions {
  bool is_terminal = false;  ///< repaint one line; otherwise plain lines, at least 5 s apart
  bool color = false;
  std::size_t width = 80;  ///< columns of the terminal; 0: unknown, taken as 80
  bool quiet = false;      ///< nothing at all, or if `brief` the repainted line: errors go through the log
  bool brief = false;      ///< only the repainted line and notices
  bool verbose = false;    ///< also checkpoints, samples and details
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

/// How long the rest of a run will take, by what passed since the first share seen, evaluations and saving included.
class RemainingTime {
 public:
  /// `share` of the run is done after so many seconds.
  void see(double share, double seconds);
  /// In seconds; none before the second share.
  std::optional<double> left() const;

 private:
  struct Point {
    double share = 0, seconds = 0;
  };
  std::optional<Point> first_;
  Point last_;
};

class ProgressPrinter : public Listener {
 public:
  using Sink = std::function<void(std::string_view)>;
  ProgressPrinter(ProgressOptions options, Sink sink);
  void on(const PlanEvent& event) override;
  void on(const StepEvent& event) override;
  void on(const EvalEvent& event) override;
  void on(const CheckpointEvent& event) override;
  void on(const SampleEvent& event) override;
  void on(const NoticeEvent& event) override;
  void on(const WorkEvent& event) override;
  /// Clears the repainted line; call before writing anything else to the terminal.
  void finish();

 private:
  /// Seconds from one line to the next, or between repaints of one.
  double interval() const { return options_.is_terminal ? 0.1 : 5; }
  bool shows_steps() const { return options_.is_terminal || !options_.brief; }
  std::string step_line(const StepEvent& event) const;
  std::string eval_line(const EvalEvent& event) const;
  void print_line(std::string_view line);
  void repaint(const std::string& line);

  ProgressOptions options_;
  Sink sink_;
  bool leaks_ = false;
  double guessing_ = 0;  ///< the loss of all symbols alike
  std::int64_t max_iters_ = 0;
  std::string best_;  ///< the best validation loss, as it is shown; empty: none yet
  SmoothedValue loss_{0.05}, tokens_per_second_{0.05};
  RemainingTime remaining_;
  std::optional<double> last_shown_;  ///< seconds of the newest line
  double work_begun_ = 0;             ///< seconds
  bool painted_ = false;              ///< a line without a newline is on the terminal
};

/// The plan as a block of aligned lines, broken between words at `width` columns (0: nowhere); also what `--dry-run`
/// shows.
std::string plan_text(const PlanEvent& plan, std::size_t width = 0);

}  // namespace chargpt
