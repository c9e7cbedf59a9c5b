// Threads that stand ready: every member works, and none goes past a meeting early.
#include "kernels/thread_team.h"

#include "kernels/autotuner.h"

#include <array>
#include <chrono>
#include <thread>

#include "test.h"

using chargpt::cpu::Faster;
using chargpt::cpu::Team;

TEST_CASE("every member does its piece in every run, also after it has slept") {
  Team team(3);
  std::array<int, 3> done{};
  for (int run = 1; run <= 100; ++run) {
    if (run % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    team.run([&](int member) { ++done[static_cast<std::size_t>(member)]; });
    REQUIRE(done == std::array<int, 3>{run, run, run});
  }
}

TEST_CASE("no member passes a meeting before all have come") {
  Team team(3);
  std::array<std::atomic<int>, 2> stage{};
  std::atomic<int> early = 0;
  team.run([&](int member) {
    if (member == 2) return;  // two of the three meet
    const auto own = static_cast<std::size_t>(member), other = 1 - own;
    for (int meeting = 1; meeting <= 1000; ++meeting) {
      stage[own] = meeting;
      team.meet(2);
      if (stage[other] < meeting) ++early;
      team.meet(2);
    }
  });
  CHECK(early == 0);
}

TEST_CASE("a team of one is its caller") {
  Team team(1);
  std::thread::id worked;
  team.run([&](int) {
    team.meet(1);
    worked = std::this_thread::get_id();
  });
  CHECK(worked == std::this_thread::get_id());
}

TEST_CASE("the faster way is gone most of the time, and the other one found when it becomes faster") {
  Faster faster;
  const auto share_of_first = [&faster](double first, double second) {
    int firsts = 0;
    for (int step = 0; step < 5000; ++step) {
      firsts += faster.way() == 0 ? 1 : 0;
      faster.took(faster.way() == 0 ? first : second);
    }
    return firsts / 5000.0;
  };
  CHECK(share_of_first(1e-5, 2e-5) > 0.95);
  CHECK(share_of_first(2e-5, 1e-5) < 0.15);
  CHECK(share_of_first(1e-5, 2e-5) > 0.85);
}

TEST_CASE("trying a way that is a hundred times slower costs little") {
  Faster faster;
  double seconds = 0;
  for (int step = 0; step < 10000; ++step) {
    const double took = faster.way() == 0 ? 1e-3 : 1e-5;
    seconds += took;
    faster.took(took);
  }
  CHECK(seconds < 16e-3 + 1.2 * 10000 * 1e-5);  // the first round knows nothing to compare with
}
