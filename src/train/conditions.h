// The conditions under which a run repeats bit for bit, and which of them a resumed run has changed. Knows no tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/checkpoint.h"
#include "train/trainer.h"

namespace chargpt {

struct Learner;

/// What a sample without a prompt starts from: the id that begins a document, where there are any; a newline, or the
/// most frequent symbol of the train split's first ten million tokens.
std::int64_t start_symbol(const Corpus& corpus);

/// Those of this process: the device and engine of `learner`, with `threads`.
RunConditions conditions_here(const Learner& learner, const Corpus& corpus, std::int64_t threads,
                              const std::string& program_version);

/// `asked`, but with device, engine or threads that it leaves to the program ("auto", 0) replaced by those under which
/// the checkpoint was written, as far as this machine has them, and its teachers: a run goes on as it began, bit for
/// bit.
TrainerOptions options_to_resume(TrainerOptions asked, const RunConditions& then);

/// One line per condition (version, threads, device, …) that differs, for a resumed run that is not bit-exact for that
/// reason.
std::vector<std::string> differing_conditions(const RunConditions& then, const RunConditions& now);

/// Changed options (config/load.h) that training depends on: weights, losses, which steps are evaluated,
/// where it ends. The others (what is kept, logged and sampled, and where the text is) may change without changing the
/// training.
std::vector<std::string> changed_training(const Config& then, const Config& now);

}  // namespace chargpt
