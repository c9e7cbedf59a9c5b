// What is said before the first step: how large the run is, and what a user should know about its options. Knows no
// loss and measures nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "report/events.h"
#include "run/checkpoint.h"
#include "text/corpus.h"
#include "train/learner.h"

namespace chargpt {

/// Options of a schedule that can hardly be intended for a run of `steps`: warm-up longer than the run, decay that ends
/// after it.
std::vector<std::string> schedule_warnings(const TrainConfig& train, std::int64_t steps);

/// Sizes, epochs, disk, and a notice wherever an option and the machine disagree. `steps`: of the whole run, under a
/// clock an estimate.
PlanEvent plan_of(const Config& config, const Corpus& corpus, const Learner& learner, const RunState& state,
                  std::int64_t steps);

/// What beside the config a run's memory depends on.
struct RunSize {
  std::int64_t vocab_size = 0, parameters = 0, threads = 1;
  bool cpu_engine = false;      ///< the CPU engine trains it, not LibTorch
  std::int64_t text_bytes = 0;  ///< of the ids that a GPU gets a copy of
  std::string device = {};      ///< whose memory it takes: "cuda:0"; empty: the machine's
};

/// Bytes that a run allocates, within a factor of about 1.5: float32 weights, gradients and two moments, and for each
/// token in flight 12 n_embd + 3 hidden floats a layer and three rows of logits. LibTorch has all tokens of a
/// micro-batch in flight, or one layer of an evaluation's batch. The CPU engine has one window a thread, gradients for
/// each thread, and packed weights.
std::int64_t memory_estimate(const Config& config, const RunSize& run);

/// Bytes of one checkpoint: weights, moments and averages.
double checkpoint_bytes(const ParameterArena& arena);

/// Error memory, naming what would lower it, if the estimate is above 1.5 times the `available` bytes: the system would
/// kill such a run without a message.
void check_memory(const Config& config, const RunSize& run, std::int64_t available);

}  // namespace chargpt
