// Progress and cancellation of long work. Independent of signals, clocks and the work itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace chargpt {

/// Long work calls it several times a second with the part that is done (0 to 1). An exception from it ends the work.
/// Empty: nobody listens.
using Heartbeat = std::function<void(double part)>;

inline void beat(const Heartbeat& heartbeat, std::int64_t done, std::int64_t all) {
  if (heartbeat) heartbeat(static_cast<double>(done) / static_cast<double>(all));
}

/// The heartbeat of one stage of the work, which spans `from` to `to` of the whole. `whole` must outlive it.
inline Heartbeat part_heartbeat(const Heartbeat& whole, double from, double to) {
  if (!whole) return {};
  return [&whole, from, to](double part) { whole(from + part * (to - from)); };
}

/// Thrown to cancel work from outside. Nothing failed, and the work leaves no result. It is not a std::exception, so
/// that no handler takes it for a failure.
struct Interrupted {};

/// For work on several threads, which share `interrupted`: only thread 0 calls the heartbeat. If that throws, the next
/// call on each other thread throws Interrupted.
inline void beat_on(std::int64_t thread, const Heartbeat& heartbeat, double part, std::atomic<bool>& interrupted) {
  if (interrupted) throw Interrupted{};
  if (thread > 0 || !heartbeat) return;
  try {
    heartbeat(part);
  } catch (...) {
    interrupted = true;
    throw;
  }
}

}  // namespace chargpt
