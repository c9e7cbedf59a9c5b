#include "kernels/thread_team.h"

#include <algorithm>
#include <chrono>

namespace chargpt::cpu {
namespace {

/// How long a member looks out for work before it sleeps: waking it costs tens of microseconds.
constexpr std::chrono::microseconds patience{200};

}  // namespace

Team::Team(int members) : members_(std::max(members, 1)) {
  for (int member = 1; member < members_; ++member) threads_.emplace_back([this, member] { stand_ready(member); });
}

Team::~Team() {
  ended_ = true;
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
}

void Team::run_all(Work work, void* data) {
  work_ = work;
  data_ = data;
  working_.store(members_ - 1, std::memory_order_relaxed);
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
  work(data, 0);
  wait_until([this] { return working_.load(std::memory_order_acquire) == 0; });
}

void Team::stand_ready(int member) {
  for (std::uint32_t seen = 0;; ++seen) {
    const auto begin = std::chrono::steady_clock::now();
    bool patient = true;
    wait_until([&] {
      if (runs_.load(std::memory_order_acquire) != seen) return true;
      patient = std::chrono::steady_clock::now() - begin < patience;
      return !patient;
    });
    if (!patient) runs_.wait(seen, std::memory_order_acquire);
    if (ended_) return;
    work_(data_, member);
    working_.fetch_sub(1, std::memory_order_release);
  }
}

void Team::meet(int count) {
  if (count == 1) return;
  const std::uint32_t meeting = meetings_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    arrived_.store(0, std::memory_order_relaxed);
    meetings_.fetch_add(1, std::memory_order_release);
    return;
  }
  wait_until([&] { return meetings_.load(std::memory_order_acquire) != meeting; });
}

}  // namespace chargpt::cpu
