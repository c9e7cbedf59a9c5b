// The state of a run at some step, every field set.
#pragma once

#include "run/state.h"

namespace chargpt {

inline RunState state_of(std::int64_t step) {
  RunState state;
  state.step = step;
  state.max_iters = 1000;
  state.seconds = 1.0 / 3;
  state.best_step = RunState::no_step;
  state.evals_without_improvement = 2;
  state.data = {1000, 0xFEDCBA9876543210};
  state.parameters = 3;
  state.start_symbol = 1;
  state.program_version = "0.1.0";
  state.libtorch_version = "2.13.0";
  state.cpu_capability = "AVX2";
  state.device = "cpu";
  state.engine = "libtorch";
  state.threads = 2;
  return state;
}

}  // namespace chargpt
