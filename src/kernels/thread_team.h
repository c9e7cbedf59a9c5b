// A team of threads that stay ready between short pieces of work: starting threads for each token would cost as much as
// the token. Waiting threads spin for some microseconds, then sleep. Independent of the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <type_traits>
#include <vector>

namespace chargpt::cpu {

class ThreadTeam {
 public:
  /// The caller is thread 0; the team starts the others, which sleep after some time without work. Throws Error memory
  /// if the system refuses to start that many threads.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return threads_; }
  /// Calls body(thread) on all threads at the same time; returns when all calls have ended. body must not throw.
  template <class Body>
  void run(Body&& body) {
    if (threads_ == 1) return body(0);
    run_all([](void* work, int thread) { (*static_cast<std::remove_reference_t<Body>*>(work))(thread); }, &body);
  }
  /// Called in body by each thread with its number: waits until all have called it as often.
  void meet(int thread);

 private:
  using Work = void (*)(void*, int);
  struct alignas(64) Meetings {  ///< of one thread, in a cache line of its own
    std::atomic<std::uint32_t> number{0};
  };
  void run_all(Work work, void* data);
  void worker_loop(int thread);
  void end_workers();

  int threads_;
  Work work_ = nullptr;
  void* data_ = nullptr;
  bool ended_ = false;
  alignas(64) std::atomic<std::uint32_t> runs_{0};  ///< number of started runs
  alignas(64) std::atomic<std::uint32_t> working_{0};
  std::vector<Meetings> meetings_;
  std::vector<std::jthread> workers_;
};

/// Calls body(0) to body(threads - 1) at the same time, on a team that the calling thread keeps for later calls;
/// returns when all calls have ended, and rethrows the first exception. Do not call it from a body.
void on_threads(int threads, const std::function<void(int)>& body);

/// Number of threads that this process computes with; initially 1. Throws Error memory if the system refuses so many
/// threads. Set it before libraries that abort the process in that case (libgomp) start their threads.
void set_threads_in_force(int threads);
int threads_in_force();

}  // namespace chargpt::cpu
