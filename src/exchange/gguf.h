// GGUF, the one file that llama.cpp reads: metadata and tensors. Models of its architectures gpt2, llama and qwen3, and
// a vocabulary of characters or bytes. Written only. Knows no other program's format. Source:
// github.com/ggml-org/ggml, docs/gguf.md, version 3.
#pragma once

#include <string>
#include <vector>

#include "exchange/exported_model.h"
#include "exchange/output_folder.h"

namespace chargpt {

std::vector<std::string> write_gguf(const ExportedModel& model, OutputFolder& folder);

}  // namespace chargpt
