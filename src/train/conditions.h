// The conditions under which a run repeats bit for bit, and what a resumed run has changed of them. Knows no tensor.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "train/trainer.h"

namespace chargpt {

struct Learner;

/// Those of this process: what `learner` trains on, with `threads`.
RunConditions conditions_here(const Learner& learner, const Corpus& corpus, std::int64_t threads,
                              const std::string& program_version);

/// `asked`, but where that leaves device, engine or threads to the program ("auto", 0) those under which the checkpoint
/// was written, as far as this machine has them: a run goes on as it began, bit for bit.
TrainerOptions options_to_resume(TrainerOptions asked, const RunConditions& then);

/// Error data where the checkpoint is not of this text, with what to do.
void refuse_another_text(const Checkpoint& checkpoint, const Corpus& corpus);

/// One line per condition (version, threads, device, …) that differs, for a resumed run that so is not bit-exact.
std::vector<std::string> differing_conditions(const RunConditions& then, const RunConditions& now);

/// Changed options (config/changed_options.h) that training depends on: weights, losses, which steps are evaluated,
/// where it ends. The others (what is kept, logged and sampled, and where the text lies) may change without it becoming
/// another training.
std::vector<std::string> changed_training(const Config& then, const Config& now);

/// Options of a schedule that cannot be meant: warm-up longer than the run, decay that ends after it, a rate that
/// rises.
std::vector<std::string> schedule_warnings(const TrainConfig& train);

}  // namespace chargpt
