// A team of threads that stand ready between short pieces of work, with a barrier within one: to start threads for each
// token would cost as much as the token. Whoever waits spins for some microseconds, and then sleeps, so that on a busy
// machine the processor goes to whom it waits for. Knows no work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <type_traits>
#include <vector>

namespace chargpt::cpu {

class ThreadTeam {
 public:
  /// The caller is thread 0; the others are the team's own, and sleep when there has been no work for a while. Error
  /// memory where the system refuses to start that many.
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
  void end_workers();

  int threads_;
  Work work_ = nullptr;
  void* data_ = nullptr;
  bool ended_ = false;
  alignas(64) std::atomic<std::uint32_t> runs_{0};  ///< begun
  alignas(64) std::atomic<std::uint32_t> working_{0};
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> barriers_{0};
  std::vector<std::jthread> workers_;
};

/// body(0) to body(threads - 1) at the same time, on a team that the calling thread keeps for its next call; returns
/// when all have ended, and rethrows the first exception. Not to be called from a body.
void on_threads(int threads, const std::function<void(int)>& body);

/// Error memory where the system refuses to run `threads` at once: asked before a library that would end the process
/// instead (libgomp) is to start them.
void check_threads(int threads);

/// How many threads this process computes with: 1 until it is set. Error memory as check_threads.
void set_threads_in_force(int threads);
int threads_in_force();

/// How long a thread spins for what it waits for before it sleeps: about as long as waking it takes.
constexpr std::chrono::microseconds spin_time{50};

/// Returns when done(number) holds. Whoever makes it hold must notify those that wait for `number`.
template <class Done>
void wait_until(const std::atomic<std::uint32_t>& number, const Done& done) {
  const auto is_done = [&] { return done(number.load(std::memory_order_acquire)); };
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int spins = 0; spins < 64; ++spins) {
      if (is_done()) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  } while (std::chrono::steady_clock::now() - begin < spin_time);
  for (std::uint32_t seen = number.load(std::memory_order_acquire); !done(seen);
       seen = number.load(std::memory_order_acquire))
    number.wait(seen, std::memory_order_acquire);
}

}  // namespace chargpt::cpu
