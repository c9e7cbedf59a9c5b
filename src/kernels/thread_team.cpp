#include "kernels/thread_team.h"

#include <algorithm>
#include <chrono>

namespace chargpt::cpu {
namespace {

/// How long a thread spins for work before it sleeps: waking it costs tens of microseconds.
constexpr std::chrono::microseconds spin_time{200};

}  // namespace

ThreadTeam::ThreadTeam(int threads) : threads_(std::max(threads, 1)) {
  for (int thread = 1; thread < threads_; ++thread) workers_.emplace_back([this, thread] { worker_loop(thread); });
}

ThreadTeam::~ThreadTeam() {
  ended_ = true;
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
}

void ThreadTeam::run_all(Work work, void* data) {
  work_ = work;
  data_ = data;
  working_.store(threads_ - 1, std::memory_order_relaxed);
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
  work(data, 0);
  spin_until([this] { return working_.load(std::memory_order_acquire) == 0; });
}

void ThreadTeam::worker_loop(int thread) {
  for (std::uint32_t seen = 0;; ++seen) {
    const auto begin = std::chrono::steady_clock::now();
    bool spinning = true;
    spin_until([&] {
      if (runs_.load(std::memory_order_acquire) != seen) return true;
      spinning = std::chrono::steady_clock::now() - begin < spin_time;
      return !spinning;
    });
    if (!spinning) runs_.wait(seen, std::memory_order_acquire);
    if (ended_) return;
    work_(data_, thread);
    working_.fetch_sub(1, std::memory_order_release);
  }
}

void ThreadTeam::barrier(int count) {
  if (count == 1) return;
  const std::uint32_t barriers = barriers_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    arrived_.store(0, std::memory_order_relaxed);
    barriers_.fetch_add(1, std::memory_order_release);
    return;
  }
  spin_until([&] { return barriers_.load(std::memory_order_acquire) != barriers; });
}

}  // namespace chargpt::cpu
