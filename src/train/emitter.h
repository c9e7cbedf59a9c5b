// What every part of a run needs from the outside world: the time, the listeners, whether to stop. Knows no
// model, no loss and no file.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/heartbeat.h"
#include "report/events.h"
#include "run/checkpoint.h"
#include "train/communicator.h"

namespace chargpt {

/// Seconds of a run, summed over the processes that train it.
class RunClock {
 public:
  /// `clock` in seconds, empty: the steady clock. `process_started` on that clock; 0: when start() is called.
  RunClock(std::function<double()> clock, double process_started, Communicator& ranks)
      : clock_(clock ? std::move(clock) : steady_seconds), started_(process_started), ranks_(ranks) {}
  void start() {
    if (started_ <= 0) started_ = now();
  }
  double now() const { return clock_(); }
  double seconds() const { return earlier_ + process_seconds(); }
  /// Of this process alone.
  double process_seconds() const { return now() - started_; }
  /// Rank 0's word on what its clock has measured, as those of others differ: called by all ranks.
  template <class Value>
  Value agreed(Value measured) const {
    return chargpt::agreed(ranks_, measured);
  }
  /// Continues from the seconds that earlier processes took.
  void count_on_from(double seconds) { earlier_ = seconds; }

 private:
  std::function<double()> clock_;
  double started_ = 0;
  double earlier_ = 0;
  Communicator& ranks_;
};

class EventEmitter {
 public:
  /// `stop` may be null; it may be set from outside at any time.
  EventEmitter(const RunClock& clock, const RunProgress& progress, const std::atomic<bool>* stop)
      : clock_(clock), progress_(progress), stop_(stop) {}

  void add_listener(std::shared_ptr<Listener> listener) { listeners_.push_back(std::move(listener)); }
  template <class Event>
  void emit(const Event& event) const {
    for (const auto& listener : listeners_) listener->on(event);
  }
  void notice(const std::string& line) const { emit(NoticeEvent{line}); }
  void detail(const std::string& line) const { emit(NoticeEvent{line, /*detail=*/true}); }
  /// `part` of `what` is done, as in WorkEvent.
  void work(std::string_view what, double part) const {
    emit(WorkEvent{.what = what, .part = part, .step = progress_.step, .seconds = clock_.seconds()});
  }

  bool stopped() const { return stop_ && stop_->load(); }
  /// Reports how far `what` has come, and throws Interrupted if the run is to stop.
  Heartbeat heartbeat(std::string_view what) const {
    return [this, what](double part) {
      if (stopped()) throw Interrupted{};
      work(what, part);
    };
  }

 private:
  const RunClock& clock_;
  const RunProgress& progress_;
  const std::atomic<bool>* stop_;
  std::vector<std::shared_ptr<Listener>> listeners_;
};

}  // namespace chargpt
