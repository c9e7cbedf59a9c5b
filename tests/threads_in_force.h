// How many threads the kernels use, for a while.
#pragma once

#include "kernels/thread_team.h"

namespace chargpt {

class Threads {
 public:
  explicit Threads(int count) { cpu::set_threads_in_force(count); }
  ~Threads() { cpu::set_threads_in_force(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_ = cpu::threads_in_force();
};

}  // namespace chargpt
