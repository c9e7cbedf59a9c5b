// Which of two ways to do the same work takes less time here and now, found by doing it: on a machine that others use
// too, threads that wait for one another may be a hundred times slower than one alone. Knows no work.
#pragma once

#include <array>
#include <chrono>

namespace chargpt::cpu {

class Faster {
 public:
  /// 0 or 1: the way to go next.
  int way() const { return way_; }
  /// How long it took. A round of steps goes one way; the other way is tried again every so many rounds, and no longer
  /// than it may still be the faster one.
  void took(double seconds) {
    spent_ += seconds;
    ++steps_;
    const double other = mean_[1 - way_];
    if (steps_ < round && (other == 0 || spent_ < 2 * round * other)) return;
    mean_[way_] = spent_ / steps_;
    spent_ = 0;
    steps_ = 0;
    const bool try_other = other == 0 || ++rounds_ % rounds_to_trial == 0;
    way_ = try_other ? 1 - way_ : mean_[0] <= mean_[1] ? 0 : 1;
  }
  /// Goes the next way, work(way is 1), by the clock.
  template <class Work>
  void measure(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work(way_ == 1);
    took(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

 private:
  static constexpr int round = 16, rounds_to_trial = 32;
  std::array<double, 2> mean_{};  ///< seconds of a step in the last round of each; 0: not known
  double spent_ = 0;
  int steps_ = 0, rounds_ = 0, way_ = 0;
};

}  // namespace chargpt::cpu
