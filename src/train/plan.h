// What is reported before the first step: the size of the run, and warnings about its options. Independent of losses;
// it measures nothing.
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

/// Warns about a schedule that does not fit a run of `steps`: warm-up that lasts as long as the run, or decay that ends
/// after it.
std::vector<std::string> schedule_warnings(const TrainConfig& train, std::int64_t steps);

/// The plan of a run: sizes, epochs, disk space, and a notice for each option that the machine cannot follow. `steps`:
/// of the whole run; an estimate under a clock.
PlanEvent plan_of(const Config& config, const Corpus& corpus, const Learner& learner, const RunState& state,
                  std::int64_t steps);

/// What a run's memory depends on, besides its config.
struct RunSize {
  std::int64_t vocab_size = 0, parameters = 0, threads = 1;
  bool cpu_engine = false;      ///< true: the CPU engine; false: LibTorch
  std::int64_t text_bytes = 0;  ///< size of the ids that are copied to a GPU
  std::string device = {};      ///< "cuda:0" if its memory is used; empty: main memory
};

/// Estimates the bytes that a run allocates, within a factor of about 1.5: float32 weights, gradients and two moments;
/// and for each token in flight, 12 n_embd + 3 mlp_size floats per layer and three rows of logits. LibTorch has all
/// tokens of a micro-batch in flight, or one layer of an evaluation's batch. The CPU engine has one window per thread,
/// gradients for each thread, and packed weights.
std::int64_t memory_estimate(const Config& config, const RunSize& run);

/// Error memory, naming the options to lower, if the estimate exceeds 1.5 times the `available` bytes. The system would
/// kill such a run without a message.
void check_memory(const Config& config, const RunSize& run, std::int64_t available);

}  // namespace chargpt
