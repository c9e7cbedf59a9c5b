// What the model writes during training: a short sample at each evaluation. Knows no loss and no step.
#pragma once

#include <cstdint>
#include <string>

#include "base/heartbeat.h"
#include "config/config.h"
#include "learner/learner.h"
#include "text/corpus.h"

namespace chargpt {

/// What a sample without a prompt starts from: the id that begins a document, where there are any; a newline, or the
/// most frequent symbol of the train split's first ten million tokens.
std::int64_t start_symbol(const Corpus& corpus);

/// eval.sample_tokens symbols after `start`, drawn by the section `sample`; only the weights differ between calls.
std::string sample_text(Learner& learner, const Vocabulary& vocabulary, std::int64_t start, const Config& config,
                        const Heartbeat& heartbeat);

}  // namespace chargpt
