#include "kernels/thread_team.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>

#include "base/memory.h"

namespace chargpt::cpu {
namespace {

/// How long a thread spins before it sleeps: about as long as waking a thread takes.
constexpr std::chrono::microseconds spin_time{50};

std::atomic<int> in_force{1};

/// Leaves the core to its other thread for some nanoseconds.
void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until done(number) is true. The thread that changes `number` must notify the threads that wait for it.
template <class Done>
void wait_until(const std::atomic<std::uint32_t>& number, const Done& done) {
  const auto is_done = [&] { return done(number.load(std::memory_order_acquire)); };
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int spins = 0; spins < 64; ++spins) {
      if (is_done()) return;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() - begin < spin_time);
  for (std::uint32_t seen = number.load(std::memory_order_acquire); !done(seen);
       seen = number.load(std::memory_order_acquire))
    number.wait(seen, std::memory_order_acquire);
}

}  // namespace

ThreadTeam::ThreadTeam(int threads) : threads_(std::max(threads, 1)), meetings_(static_cast<std::size_t>(threads_)) {
  try {
    for (int thread = 1; thread < threads_; ++thread) workers_.emplace_back([this, thread] { worker_loop(thread); });
  } catch (const std::system_error&) {
    end_workers();  // the destructors of the started threads would wait forever
    throw refused_thread();
  }
}

ThreadTeam::~ThreadTeam() {
  end_workers();
}

void ThreadTeam::end_workers() {
  ended_ = true;
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
}

void ThreadTeam::run_all(Work work, void* data) {
  work_ = work;
  data_ = data;
  working_.store(static_cast<std::uint32_t>(threads_ - 1), std::memory_order_relaxed);
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
  work(data, 0);
  wait_until(working_, [](std::uint32_t working) { return working == 0; });
}

void ThreadTeam::meet(int thread) {
  std::atomic<std::uint32_t>& own = meetings_[static_cast<std::size_t>(thread)].number;
  const std::uint32_t number = own.load(std::memory_order_relaxed) + 1;
  own.store(number, std::memory_order_release);
  constexpr int spins = 1000;  // of about 25 ns; then another program probably has the core that a thread needs
  for (const Meetings& one : meetings_)  // another thread is at most one meeting ahead
    for (int tries = 0; one.number.load(std::memory_order_acquire) == number - 1; ++tries)
      tries < spins ? pause_processor() : std::this_thread::yield();
}

void ThreadTeam::worker_loop(int thread) {
  for (std::uint32_t seen = 0;; ++seen) {
    wait_until(runs_, [seen](std::uint32_t runs) { return runs != seen; });
    if (ended_) return;
    work_(data_, thread);
    if (working_.fetch_sub(1, std::memory_order_release) == 1) working_.notify_one();
  }
}

void set_threads_in_force(int threads) {
  const ThreadTeam all(threads);
  in_force = threads;
}

int threads_in_force() {
  return in_force;
}

void on_threads(int threads, const std::function<void(int)>& body) {
  if (threads == 1) return body(0);
  thread_local std::optional<ThreadTeam> team;
  if (!team || team->threads() < threads) team.emplace(threads);
  std::exception_ptr failure;
  std::mutex guard;
  team->run([&](int thread) {
    if (thread >= threads) return;
    try {
      body(thread);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!failure) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace chargpt::cpu
