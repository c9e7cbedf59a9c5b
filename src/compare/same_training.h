// Checks whether two run folders contain the same training: their losses step by step, and the weights of steps that
// both saved. For `reproduce` and `inspect A B`. Independent of text, engine and command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"

namespace chargpt {

/// bits: all losses and weights are bitwise equal. rounding: losses of the first 20 steps differ by at most 1e-4
/// (relative), those of all evaluations by at most 0.02.
CHARGPT_ENUM(Verdict, bits, rounding, differs);

struct Difference {
  std::int64_t step = 0;
  std::string what;          ///< "loss", "val_loss", …, as metrics.jsonl calls it; "weights"
  double then = 0, now = 0;  ///< NaN: absent, or weights
};

struct SameTraining {
  Verdict verdict = Verdict::bits;
  /// The first difference in bits; if the verdict is `differs`, the first one that shows it.
  std::optional<Difference> difference = {};
  std::int64_t losses = 0;                      ///< number compared
  std::vector<std::int64_t> same_weights = {};  ///< steps with bitwise equal weights
};

/// Throws Error data if `run` has no losses up to step `last`.
void check_losses(const std::filesystem::path& run, std::int64_t last);

/// Compares `run` up to step `last` with the training in `again`. Throws Error data if `run` has no losses there; other
/// errors as load_checkpoint().
SameTraining compare_trainings(const std::filesystem::path& run, const std::filesystem::path& again, std::int64_t last);

/// "the same bits: 21 losses, and the weights of steps 20, 40", "different: step 10, loss 3.0 then and 2.5 now"
std::string to_text(const SameTraining& same);
/// {"verdict","compared_losses","same_weights","difference":{"step","what","then","now"} or null}
nlohmann::ordered_json to_json(const SameTraining& same);

}  // namespace chargpt
