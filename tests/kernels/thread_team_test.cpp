// A team of threads: all of them work, and none passes a barrier early.
#include "kernels/thread_team.h"

#include "kernels/autotuner.h"

#include <array>
#include <chrono>
#include <thread>

#include "test.h"

using chargpt::cpu::Autotuner;
using chargpt::cpu::ThreadTeam;

TEST_CASE("every thread does its piece in every run, also after it has slept") {
  ThreadTeam team(3);
  std::array<int, 3> done{};
  for (int run = 1; run <= 100; ++run) {
    if (run % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    team.run([&](int thread) { ++done[static_cast<std::size_t>(thread)]; });
    REQUIRE(done == std::array<int, 3>{run, run, run});
  }
}

TEST_CASE("no thread passes a barrier before all have come") {
  ThreadTeam team(3);
  std::array<std::atomic<int>, 2> stage{};
  std::atomic<int> early = 0;
  team.run([&](int thread) {
    if (thread == 2) return;  // two of the three
    const auto own = static_cast<std::size_t>(thread), other = 1 - own;
    for (int round = 1; round <= 1000; ++round) {
      stage[own] = round;
      team.barrier(2);
      if (stage[other] < round) ++early;
      team.barrier(2);
    }
  });
  CHECK(early == 0);
}

TEST_CASE("a team of one is its caller") {
  ThreadTeam team(1);
  std::thread::id worked;
  team.run([&](int) {
    team.barrier(1);
    worked = std::this_thread::get_id();
  });
  CHECK(worked == std::this_thread::get_id());
}

TEST_CASE("the faster variant runs most of the time, and the other one once it becomes faster") {
  Autotuner tuner;
  const auto share_of_first = [&tuner](double first, double second) {
    int firsts = 0;
    for (int run = 0; run < 5000; ++run) {
      firsts += tuner.variant() == 0 ? 1 : 0;
      tuner.record(tuner.variant() == 0 ? first : second);
    }
    return firsts / 5000.0;
  };
  CHECK(share_of_first(1e-5, 2e-5) > 0.95);
  CHECK(share_of_first(2e-5, 1e-5) < 0.15);
  CHECK(share_of_first(1e-5, 2e-5) > 0.85);
}

TEST_CASE("trying a variant that is a hundred times slower costs little") {
  Autotuner tuner;
  double seconds = 0;
  for (int run = 0; run < 10000; ++run) {
    const double took = tuner.variant() == 0 ? 1e-3 : 1e-5;
    seconds += took;
    tuner.record(took);
  }
  CHECK(seconds < 16e-3 + 1.2 * 10000 * 1e-5);  // the first round knows nothing to compare with
}
