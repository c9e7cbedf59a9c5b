// The processes that train one run together, and what they say to each other. Knows no model and no transport.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace chargpt {

/// One of the processes, of which each calls the same functions in the same order. What is summed has the same bits on
/// every rank and each time. Every call is an Error io where the others do not come within the time that was set, and
/// on rank 0 the error that another one has told it of.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  bool alone() const { return ranks() == 1; }
  bool first() const { return rank() == 0; }

  /// Each number becomes the sum of all ranks', added in the order of the ranks.
  virtual void sum(std::span<float> values) = 0;
  /// What each rank gives, in the order of the ranks.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own) = 0;
  /// Rank 0's bytes, of which all have as many.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  /// Seconds spent in these calls, waiting included.
  virtual double seconds() const = 0;

  /// After an exception on this rank, which will not come to any further call. On rank 0 ends the whole job, with exit
  /// code `code`; on another one tells rank 0, which does. Returns where that did not happen within seconds.
  virtual void fail(int code, const std::string& line) = 0;
  /// After the last call, on every rank. The process goes on alone.
  virtual void finish() = 0;
};

/// How long to wait for other ranks.
struct WaitingOptions {
  double seconds = 60;
  const std::atomic<bool>* stop = nullptr;  ///< that the job is to end; may be null
  std::function<void()> stuck = {};         ///< called once if it is to end, and the others do not come at once
};

/// What the library that links MPI offers, so that nothing else does.
using MakeCommunicator = Communicator*(const WaitingOptions& waiting);
inline constexpr const char* make_communicator_name = "chargpt_make_communicator_1";

/// A process by itself.
class OneProcess : public Communicator {
 public:
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  void sum(std::span<float>) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own) override {
    return {{own.begin(), own.end()}};
  }
  void broadcast(std::span<std::byte>) override {}
  double seconds() const override { return 0; }
  void fail(int, const std::string&) override {}
  void finish() override {}
};

/// Rank 0's value.
template <class Value>
Value agreed(Communicator& ranks, Value value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  ranks.broadcast(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

/// Each rank's value, in the order of the ranks.
template <class Value>
std::vector<Value> gathered(Communicator& ranks, std::span<const Value> own) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::vector<Value> all;
  for (const std::vector<std::byte>& bytes : ranks.gather(std::as_bytes(own))) {
    const std::size_t begin = all.size();
    all.resize(begin + bytes.size() / sizeof(Value));
    if (!bytes.empty()) std::memcpy(all.data() + begin, bytes.data(), bytes.size());
  }
  return all;
}
template <class Value>
std::vector<Value> gathered(Communicator& ranks, const Value& own) {
  return gathered(ranks, std::span<const Value>(&own, 1));
}

/// Whether it is so on any rank.
inline bool on_any(Communicator& ranks, bool here) {
  const std::vector<char> all = gathered<char>(ranks, here ? 1 : 0);
  return std::ranges::count(all, 1) > 0;
}

}  // namespace chargpt
