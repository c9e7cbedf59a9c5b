// Which tensors transformers has of a model; see huggingface.h. With code of ours (transformers/modeling_chargpt.py)
// they are those of a checkpoint. What transformers computes by itself is in its files
// models/{gpt2,llama,qwen3}/modeling_*.py: its Conv1D has weights (in, out), its rotary pairs are halves as ours are,
// and Qwen3 normalises queries and keys before it turns them, as we do.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/architecture.h"
#include "exchange/layout.h"

namespace chargpt {

/// Our model with all the gains and biases that theirs has.
ModelConfig in_transformers(const ModelConfig& options, Architecture architecture);

/// Their tensors of such a model.
std::vector<LayoutRow> rows_in_transformers(const ModelConfig& theirs, Architecture architecture, std::int64_t symbols);

}  // namespace chargpt
