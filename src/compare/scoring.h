// Scores one trained run of a comparison on a whole split, with its final weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "compare/ranking.h"
#include "text/corpus.h"

namespace chargpt {

/// Scores a run, with averaged weights if present. `place`: a run folder (its last checkpoint is scored) or a
/// checkpoint file. `test`: the test split in place of the validation split. `threads` 0: one per physical core. Throws
/// Error diverged if the loss is not finite, data if that checkpoint is damaged, even if an earlier one is not; other
/// errors as load_checkpoint() and split_loss().
TrainedRun score_run(const std::string& name, const std::filesystem::path& place, const Corpus& corpus, bool test,
                     std::int64_t threads, const Heartbeat& heartbeat = {});

}  // namespace chargpt
