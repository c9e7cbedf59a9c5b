// GGUF, the one file that llama.cpp reads: metadata and tensors. Models of its architectures gpt2, llama and qwen3, and
// a vocabulary of characters or bytes. Written only. Knows no other program's format. Source:
// github.com/ggml-org/ggml, docs/gguf.md, version 3.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "exchange/exported_model.h"
#include "exchange/output_folder.h"

namespace chargpt {

/// Whether the file's metadata says that chargpt wrote it. Errors as read_regular_file.
bool is_own_gguf(const std::filesystem::path& path);

std::vector<std::string> write_gguf(const ExportedModel& model, OutputFolder& folder);

}  // namespace chargpt
