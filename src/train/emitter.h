// The connections of a run to the outside: clock, listeners and stop flag. Independent of models, losses and files.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/heartbeat.h"
#include "report/events.h"
#include "run/checkpoint.h"
#include "train/communicator.h"

namespace chargpt {

/// Measures the seconds of a run, earlier processes of a resumed run included.
class RunClock {
 public:
  /// `clock`: seconds; empty: the steady clock. `process_started`: on that clock; 0: now.
  RunClock(std::function<double()> clock, double process_started, Communicator& ranks)
      : clock_(clock ? std::move(clock) : steady_seconds),
        started_(process_started > 0 ? process_started : now()),
        ranks_(ranks) {}
  double now() const { return clock_(); }
  double seconds() const { return earlier_ + process_seconds(); }
  /// The seconds of this process alone.
  double process_seconds() const { return now() - started_; }
  /// Rank 0's measurement, because clocks differ between ranks. All ranks must call it.
  template <class Value>
  Value agreed(Value measured) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::memcpy(&measured, ranks_.gather(std::as_bytes(std::span(&measured, 1))).front().data(), sizeof measured);
    return measured;
  }
  /// Adds the seconds of earlier processes.
  void count_on_from(double seconds) { earlier_ = seconds; }

 private:
  std::function<double()> clock_;
  double started_ = 0;
  double earlier_ = 0;
  Communicator& ranks_;
};

class EventEmitter {
 public:
  /// `stop` may be null; another thread or a signal handler may set it at any time.
  EventEmitter(const RunClock& clock, const RunProgress& progress, const std::atomic<bool>* stop)
      : clock_(clock), progress_(progress), stop_(stop) {}

  void add_listener(std::shared_ptr<Listener> listener) { listeners_.push_back(std::move(listener)); }
  template <class Event>
  void emit(const Event& event) const {
    for (const auto& listener : listeners_) listener->on(event);
  }
  void notice(const std::string& line) const { emit(NoticeEvent{line, progress_.step}); }
  /// Reports that `part` (0 to 1) of `what` is done.
  void work(std::string_view what, double part) const {
    emit(WorkEvent{.what = what, .part = part, .step = progress_.step, .seconds = clock_.seconds()});
  }

  bool stopped() const { return stop_ && stop_->load(); }
  /// A heartbeat that reports the progress of `what`, and throws Interrupted if the run should stop.
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
