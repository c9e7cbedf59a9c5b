// Starts a run from the weights of another (fine-tuning). Matches tensors by name, and embedding rows by symbol.
// Independent of model types.
#pragma once

#include <string>

#include "network/arena.h"
#include "run/checkpoint.h"
#include "text/corpus.h"

namespace chargpt {

/// Overwrites the initial weights of `arena` (a model of `config` over `vocabulary`) with the better ones of `from`. In
/// parameters with one row per symbol, rows are matched by symbol; new symbols keep their initial rows. Returns a line
/// about the match. Error data if a tensor is missing, surplus or of another shape (naming the model options that
/// differ), if units differ, or if no symbol is shared.
std::string inherit_weights(ParameterArena& arena, const Config& config, const Vocabulary& vocabulary,
                            const Checkpoint& from);

/// Why `other` (a teacher, or the source of the weights) may have seen held-out text of this run: "was trained on
/// another text (…): …". "" if it learned from the same part of the same text.
std::string foreign_text(const Checkpoint& other, const Config& config, const Corpus& corpus);

}  // namespace chargpt
