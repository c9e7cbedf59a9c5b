// Threads that stand ready between short pieces of work, and can meet within one: an OpenMP region for each token would
// cost as much as the token. Knows no work.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace chargpt::cpu {

class Team {
 public:
  /// The caller is member 0; the others are threads of the team's own, which sleep when nothing has come for a while.
  explicit Team(int members);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int members() const { return members_; }
  /// body(member) on every member at the same time; returns when all have ended. body must not throw.
  template <class Body>
  void run(Body&& body) {
    if (members_ == 1) return body(0);
    run_all([](void* work, int member) { (*static_cast<std::remove_reference_t<Body>*>(work))(member); }, &body);
  }
  /// Within a run: returns when members 0 to count - 1 have called it.
  void meet(int count);

 private:
  using Work = void (*)(void*, int);
  void run_all(Work work, void* data);
  void stand_ready(int member);

  int members_;
  Work work_ = nullptr;
  void* data_ = nullptr;
  bool ended_ = false;
  alignas(64) std::atomic<std::uint32_t> runs_{0};  ///< begun
  alignas(64) std::atomic<int> working_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> meetings_{0};
  std::vector<std::jthread> threads_;
};

/// Looks again and again until done() holds, and lets other threads go first when that takes long.
template <class Done>
void wait_until(const Done& done) {
  for (int looks = 0; !done(); ++looks) {
    if (looks > 2000)
      std::this_thread::yield();
    else
#if defined(__x86_64__)
      __builtin_ia32_pause();
#else
      std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
}

}  // namespace chargpt::cpu
