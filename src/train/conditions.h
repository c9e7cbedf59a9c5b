// The conditions under which a run repeats bit for bit, and what a resumed run changes. Independent of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/checkpoint.h"
#include "train/trainer.h"

namespace chargpt {

struct Learner;

/// The id that starts a sample without a prompt: the id between documents if there is one, else a newline, else the
/// most frequent symbol in the first ten million tokens of the train split.
std::int64_t start_symbol(const Corpus& corpus);

/// The conditions of this process: device and engine of `learner`, with `threads`.
RunConditions conditions_here(const Learner& learner, const Corpus& corpus, std::int64_t threads,
                              const std::string& program_version);

/// `asked` with defaults from the checkpoint's conditions, so that the run continues bit for bit: device, engine and
/// threads that were left to the program ("auto", 0), as far as this machine has them, and the teachers.
TrainerOptions options_to_resume(TrainerOptions asked, const RunConditions& then);

/// One notice for each condition (version, threads, device, …) that differs and breaks bit-exactness.
std::vector<std::string> differing_conditions(const RunConditions& then, const RunConditions& now);

/// Changed options (see config/describe.h) that training depends on: weights, losses, evaluated steps, the end. Options
/// about what is kept, logged or sampled, and the location of the text, have no influence.
std::vector<std::string> changed_training(const Config& then, const Config& now);

}  // namespace chargpt
