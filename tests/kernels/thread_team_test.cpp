// A team of threads: all of them work. ThreadSanitizer runs these too.
#include "kernels/thread_team.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "failure.h"

using chargpt::cpu::on_threads;
using chargpt::cpu::ThreadTeam;

namespace {

void sleep_for_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace

TEST_CASE("every thread does its piece in every run, also after it has slept") {
  ThreadTeam team(3);
  std::array<int, 3> done{};
  for (int run = 1; run <= 100; ++run) {
    if (run % 50 == 0) sleep_for_ms(5);
    team.run([&](int thread) { ++done[static_cast<std::size_t>(thread)]; });
    REQUIRE(done == std::array<int, 3>{run, run, run});
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take all address space
TEST_CASE("threads that the system refuses to start are an error in one line, and the others end", "[limits]") {
  struct rlimit before {};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t room_for_a_few = 40 << 20;  // a thread takes 8 MB
  const struct rlimit little { pages* static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + room_for_a_few, before.rlim_max };
  REQUIRE(setrlimit(RLIMIT_AS, &little) == 0);
  const chargpt::Failure refusal = chargpt::error_of([] { ThreadTeam team(64); });
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(refusal.code == chargpt::ExitCode::memory);
  CHECK_THAT(refusal.line, Catch::Contains("raise the limit (ulimit -u, ulimit -v"));
}
#endif

TEST_CASE("threads that wait long, for work or for the others' end, take no processor time") {
  ThreadTeam team(3);
  auto wait_for_others = [](int thread) {
    if (thread > 0) sleep_for_ms(200);
  };
  const std::clock_t begun = std::clock();  // of the whole process
  team.run(wait_for_others);
  sleep_for_ms(200);
  CHECK(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC < 0.1);
}

TEST_CASE("a team of one is its caller") {
  ThreadTeam team(1);
  std::thread::id worked;
  team.run([&](int) { worked = std::this_thread::get_id(); });
  CHECK(worked == std::this_thread::get_id());
}

TEST_CASE("every piece of work is done once, at the same time as the others") {
  std::atomic<int> arrived = 0;
  std::array<int, 2> met{};
  on_threads(2, [&](int thread) {
    ++arrived;
    const auto begun = std::chrono::steady_clock::now();
    while (arrived < 2 && std::chrono::steady_clock::now() - begun < std::chrono::seconds(20))
      std::this_thread::yield();
    met[static_cast<std::size_t>(thread)] = arrived;
  });
  CHECK(met == std::array{2, 2});  // each saw the other
}

TEST_CASE("each call has as many pieces of work as it asks for, more or fewer than the one before") {
  for (const int threads : {1, 3, 2, 8, 1, 5}) {
    std::array<int, 8> done{};
    on_threads(threads, [&](int thread) { ++done[static_cast<std::size_t>(thread)]; });
    std::array<int, 8> expected{};
    std::fill_n(expected.begin(), threads, 1);
    CHECK(done == expected);
  }
}

TEST_CASE("a failure on a thread arrives where it was asked for") {
  for (const int failing : {0, 2})
    CHECK_THROWS_WITH(on_threads(3,
                                 [failing](int thread) {
                                   if (thread == failing) throw std::runtime_error("third");
                                 }),
                      "third");
}
