// Which of two variants of the same work is the faster one here and now, found by running both: on a machine that
// others use too, threads that wait for one another may be a hundred times slower than one alone. Knows no work.
#pragma once

#include <array>
#include <chrono>

namespace chargpt::cpu {

class Autotuner {
 public:
  /// 0 or 1: what to run next.
  int variant() const { return variant_; }
  /// How long it took. A variant is run a round at a time; the other one is tried again every so many rounds, and no
  /// longer than it may still be the faster one.
  void record(double seconds) {
    spent_ += seconds;
    ++runs_;
    const double other = mean_[1 - variant_];
    if (runs_ < runs_per_round && (other == 0 || spent_ < 2 * runs_per_round * other)) return;
    mean_[variant_] = spent_ / runs_;
    spent_ = 0;
    runs_ = 0;
    const bool try_other = other == 0 || ++rounds_ % rounds_per_trial == 0;
    variant_ = try_other ? 1 - variant_ : mean_[0] <= mean_[1] ? 0 : 1;
  }
  /// Runs the next variant, work(variant is 1), by the clock.
  template <class Work>
  void run(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work(variant_ == 1);
    record(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

 private:
  static constexpr int runs_per_round = 16, rounds_per_trial = 32;
  std::array<double, 2> mean_{};  ///< seconds of a run in the last round of each; 0: not known
  double spent_ = 0;
  int runs_ = 0, rounds_ = 0, variant_ = 0;
};

}  // namespace chargpt::cpu
