// A team of threads that stand ready between short pieces of work, with a barrier within one: an OpenMP region for each
// token would cost as much as the token. Knows no work.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace chargpt::cpu {

class ThreadTeam {
 public:
  /// The caller is thread 0; the others are the team's own, and sleep when there has been no work for a while.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return threads_; }
  /// body(thread) on all threads at the same time; returns when all have ended. body must not throw.
  template <class Body>
  void run(Body&& body) {
    if (threads_ == 1) return body(0);
    run_all([](void* work, int thread) { (*static_cast<std::remove_reference_t<Body>*>(work))(thread); }, &body);
  }
  /// Within a run: returns when threads 0 to count - 1 have called it.
  void barrier(int count);

 private:
  using Work = void (*)(void*, int);
  void run_all(Work work, void* data);
  void worker_loop(int thread);

  int threads_;
  Work work_ = nullptr;
  void* data_ = nullptr;
  bool ended_ = false;
  alignas(64) std::atomic<std::uint32_t> runs_{0};  ///< begun
  alignas(64) std::atomic<int> working_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> barriers_{0};
  std::vector<std::jthread> workers_;
};

/// Spins until done() holds, and yields the processor when that takes long.
template <class Done>
void spin_until(const Done& done) {
  for (int spins = 0; !done(); ++spins) {
    if (spins > 2000)
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
