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

struct ScoringOptions {
  bool test = false;         ///< the test split in place of the validation split
  std::int64_t threads = 0;  ///< 0: one per physical core
  Heartbeat heartbeat = {};
};

/// `place`: a run folder, whose last checkpoint is scored, or the file of a checkpoint; averaged weights where there
/// are some. Errors: diverged for a loss that is not finite; data for a damaged checkpoint, whatever is before it;
/// those of load_checkpoint and split_loss.
TrainedRun score_run(const std::string& name, const std::filesystem::path& place, const Corpus& corpus,
                     const ScoringOptions& options);

/// Tokens of the scored split that also occur in the train split, as a sentence; empty for few or none.
std::string shared_text_remark(const Corpus& corpus, bool test);

}  // namespace chargpt
