// Why a run ended, and what that means to its reader. Pure. Knows no trainer and no file.
#pragma once

#include <cstdint>
#include <string>

#include "base/names.h"

namespace chargpt {

/// finished: all steps are done. patience: train.patience evaluations in a row were no better. seconds:
/// train.max_seconds ran out before all steps were done. stopped: by a signal. diverged: loss or weights were not
/// finite. unknown: it goes on, it was killed, or an early program wrote it.
CHARGPT_ENUM(Ending, unknown, finished, patience, seconds, stopped, diverged);

/// The end of a run.
struct EndEvent {
  Ending ended = Ending::unknown;
  std::int64_t step = 0, max_iters = 0;
  std::int64_t patience = 0;  ///< train.patience
  double max_seconds = 0;     ///< train.max_seconds
  double seconds = 0;         ///< since process start, summed over resumed processes
};

/// Why, for people: "ended by patience after 440 of 600 steps: no better validation loss in the last 2 evaluations".
std::string why_ended(const EndEvent& end);

/// The command that continues `run`: for twice as many steps or seconds where it used up those that it had.
std::string command_to_go_on(const EndEvent& end, const std::string& run);

}  // namespace chargpt
