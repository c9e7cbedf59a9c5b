// The other half of the program, which has LibTorch: the executable chargpt-training beside this one. Commands that
// train continue there; everything else is done here, and never waits for LibTorch to load.
#pragma once

#include <span>
#include <string_view>

namespace chargpt {

class Options;

/// What the training half adds to this one.
struct TrainingHalf {
  struct CommandOptions {
    std::string_view name;
    void (*add)(Options& options);
  };
  std::span<const CommandOptions> commands;
};

/// Null in the half without LibTorch.
const TrainingHalf* training_half();
/// To be called first, with an object that outlives all work of the process.
void be_training_half(const TrainingHalf& half);

/// Runs this process's own command line in the training half instead. Returns only by an Error unavailable, if that
/// half is missing or cannot be loaded.
[[noreturn]] void continue_in_training_half();
/// The same where that half is there and this is the other one; else it returns.
void continue_in_training_half_if_there();

}  // namespace chargpt
