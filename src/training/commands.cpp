#include "training/commands.h"

#include <array>

namespace chargpt {
namespace {

constexpr std::array<TrainingHalf::CommandOptions, 6> table{{{"train", add_train},
                                                             {"resume", add_resume},
                                                             {"compare", add_compare},
                                                             {"tune", add_tune},
                                                             {"bench", add_bench},
                                                             {"doctor", add_doctor}}};

constexpr TrainingHalf whole{.commands = table};

}  // namespace

const TrainingHalf& whole_training_half() {
  return whole;
}

}  // namespace chargpt
