// A team of threads that stand ready between short pieces of work: to start threads for each token would cost as much
// as the token. Waiting threads spin for some microseconds, then sleep. Knows no work.
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
  std::vector<std::jthread> workers_;
};

/// body(0) to body(threads - 1) at the same time, on a team that the calling thread keeps for its next call; returns
/// when all have ended, and rethrows the first exception. Not to be called from a body.
void on_threads(int threads, const std::function<void(int)>& body);

/// How many threads this process computes with: 1 until it is set. Error memory where the system refuses to run so many
/// at once: asked before a library that would end the process instead (libgomp) is to start them.
void set_threads_in_force(int threads);
int threads_in_force();

}  // namespace chargpt::cpu
