// What is said before the first step: how large the run is, and what a user should know about its options. Knows no
// loss and measures nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "config/load.h"
#include "learner/learner.h"
#include "report/events.h"
#include "text/corpus.h"

namespace chargpt {

/// Options of a schedule that can hardly be intended for a run of `steps`: warm-up longer than the run, decay that ends
/// after it.
std::vector<std::string> schedule_warnings(const TrainConfig& train, std::int64_t steps);

/// Sizes, epochs, disk, and a notice wherever an option and the machine disagree. `config` with its length
/// settled.
PlanEvent plan_of(const ResolvedConfig& config, const Corpus& corpus, const Learner& learner, const RunState& state);

/// What beside the config a run's memory depends on.
struct RunSize {
  std::int64_t vocab_size = 0, parameters = 0, threads = 1;
  bool cpu_engine = false;  ///< the CPU engine trains it, not autograd
  std::string device = {};  ///< whose memory it takes: "cuda:0"; empty: the machine's
};

/// Bytes at the peak of training, beside what the process has before: weights, gradients and two moments in float32
/// (Muon keeps one; weights and moments twice if a rollback may need them; with train.ema averaged weights), and what
/// the engine computes in. Autograd keeps of one micro-batch, per token, some 18 rows of n_embd and the feed-forward's
/// hidden row per layer, and three rows of logits.
std::int64_t memory_estimate(const Config& config, const RunSize& run);

/// Bytes of one checkpoint: weights, two moments (Muon: one) and averaged weights in float32.
double checkpoint_bytes(const Config& config, std::int64_t vocab_size, std::int64_t parameters);

/// Bytes of the checkpoints kept: train.keep of them, the best, and what a rollback returns to.
std::int64_t disk_estimate(const Config& config, std::int64_t vocab_size, std::int64_t parameters);

/// Error memory, naming what would lower it, if the estimate is well above `available` bytes, where such a run would be
/// killed without a word. Of the CPU engine it is within 15 %, of autograd perhaps off by half.
void check_memory(const Config& config, const RunSize& run, std::int64_t available);

}  // namespace chargpt
