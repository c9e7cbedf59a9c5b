#include "train/emitter.h"

#include <utility>

#include "base/clock.h"

namespace chargpt {

RunClock::RunClock(std::function<double()> clock, double process_started, Communicator& ranks)
    : clock_(clock ? std::move(clock) : steady_seconds), started_(process_started), ranks_(ranks) {}

void RunClock::start() {
  if (started_ <= 0) started_ = now();
}

EventEmitter::EventEmitter(const RunClock& clock, const RunProgress& progress, const std::atomic<bool>* stop)
    : clock_(clock), progress_(progress), stop_(stop) {}

void EventEmitter::work(std::string_view what, double part) const {
  emit(WorkEvent{.what = what, .part = part, .step = progress_.step, .seconds = clock_.seconds()});
}

Heartbeat EventEmitter::heartbeat(std::string_view what, double from, double to) const {
  return [this, what, from, to](double part) {
    if (stopped()) throw Interrupted{};
    work(what, from + part * (to - from));
  };
}

}  // namespace chargpt
