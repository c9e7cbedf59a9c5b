// Messages between the processes (ranks) that train one run together. Independent of models and of the transport.
#pragma once

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

/// One of the ranks; this class itself is a single process without others. All ranks must call the same functions in
/// the same order. Sums have the same bits on every rank and in every repetition. Every call may throw Error io if the
/// other ranks do not answer in time, and on rank 0 also the error that another rank has reported.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const { return 0; }
  virtual int ranks() const { return 1; }
  bool alone() const { return ranks() == 1; }
  bool first() const { return rank() == 0; }

  /// Replaces each number by its sum over all ranks, added in the order of ranks.
  virtual void sum(std::span<float> /*values*/) {}
  /// Returns the bytes of each rank, in the order of ranks.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own) {
    return {{own.begin(), own.end()}};
  }

  /// Reports an exception on this rank, which makes no further call. On rank 0 it ends the whole job with exit code
  /// `code`; on another rank it tells rank 0 to do so. Returns only if that does not happen within seconds.
  virtual void fail(int /*code*/, const std::string& /*line*/) {}
  /// Call it on every rank after the last other call. The process then continues alone.
  virtual void finish() {}
};

/// How long to wait for the other ranks.
struct WaitingOptions {
  double seconds = 60;
  const std::atomic<bool>* stop = nullptr;  ///< set when the job should end; may be null
  std::function<void()> stuck = {};         ///< called once if it should end and other ranks do not answer at once
};

/// The only function of the plug-in that links MPI.
using MakeCommunicator = Communicator*(const WaitingOptions& waiting);
inline constexpr const char* make_communicator_name = "chargpt_make_communicator_2";

/// The values of all ranks, in the order of ranks.
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

}  // namespace chargpt
