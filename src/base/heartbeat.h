// Long work tells how far it has come, and may be called off between its parts. Knows no signal, no clock and no work.
#pragma once

#include <cstdint>
#include <functional>

namespace chargpt {

/// Called between the parts of long work, several times a second, with how much of it is done (0 to 1). Where it throws
/// the work ends there. Empty: nobody listens.
using Heartbeat = std::function<void(double part)>;

inline void beat(const Heartbeat& heartbeat, std::int64_t done, std::int64_t all) {
  if (heartbeat) heartbeat(static_cast<double>(done) / static_cast<double>(all));
}

/// For a stretch of the work, `from` to `to` of the whole, whose heartbeat must outlive it.
inline Heartbeat part_heartbeat(const Heartbeat& whole, double from, double to) {
  if (!whole) return {};
  return [&whole, from, to](double part) { whole(from + part * (to - from)); };
}

/// Thrown where work was called off from outside: nothing has gone wrong, and nothing of the work is kept. No
/// std::exception, so that nothing takes it for a failure.
struct Interrupted {};

}  // namespace chargpt
