// Folders that transformers loads and saves: config.json, model.safetensors, tokenizer.json. Models of GPT-2's, Llama's
// and Qwen3's layout, all others of type gpt by code that the folder brings along, and tokenizers of single characters.
// Knows no other program's format.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/exported_model.h"
#include "exchange/imported_model.h"
#include "exchange/output_folder.h"

namespace chargpt {

std::vector<std::string> write_huggingface(const ExportedModel& model, OutputFolder& folder);
/// A folder with config.json and tokenizer.json, and no run.
bool is_huggingface(const std::filesystem::path& path);
ImportedModel read_huggingface(const std::filesystem::path& path);

/// The file of transformers/, compiled in by scripts/cmake/EmbedText.cmake.
std::string_view modeling_chargpt();

}  // namespace chargpt
