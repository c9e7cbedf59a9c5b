// Weights of one run as the start of another (fine-tuning): tensors matched by name, rows of symbols by symbol.
// Knows no model by name.
#pragma once

#include <string>

#include "network/arena.h"
#include "run/checkpoint.h"
#include "text/corpus.h"

namespace chargpt {

/// Overwrites the fresh weights of `arena`, a model of `config` over `vocabulary`, with the better ones of `from`. A
/// dimension of a parameter that counts symbols is matched symbol by symbol; symbols new here keep their fresh rows.
/// Returns a line on what was matched. Error data if a tensor is missing, surplus or of another shape (naming the model
/// options that differ), if units differ, or if no symbol is shared.
std::string inherit_weights(ParameterArena& arena, const Config& config, const Vocabulary& vocabulary,
                            const Checkpoint& from);

/// How `other`, a teacher or where weights come from, may know what a run of `config` is scored on: "was trained on
/// another text (…): …". Empty where it learned from the same part of the same text.
std::string foreign_text(const Checkpoint& other, const Config& config, const Corpus& corpus);

}  // namespace chargpt
