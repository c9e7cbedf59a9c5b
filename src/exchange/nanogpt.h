// nanoGPT's checkpoints (github.com/karpathy/nanoGPT) by way of a folder that holds no pickle, which
// scripts/nanogpt_to_chargpt.py and scripts/chargpt_to_nanogpt.py turn into ckpt.pt and meta.pkl and back:
//   model.safetensors      parameters by the names of nanoGPT's state dict, float32; the head is the token embedding
//   optimizer.safetensors  "<parameter>.exp_avg" and "<parameter>.exp_avg_sq" of AdamW, and "step"; absent without them
//   nanogpt.json           model_args, config and iter_num of ckpt.pt; "symbols": the characters, by id
// Knows no other program's format.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "exchange/exported_model.h"
#include "exchange/imported_model.h"
#include "exchange/output_folder.h"

namespace chargpt {

std::vector<std::string> write_nanogpt(const ExportedModel& model, OutputFolder& folder);
/// A folder with nanogpt.json.
bool is_nanogpt(const std::filesystem::path& path);
ImportedModel read_nanogpt(const std::filesystem::path& path);

}  // namespace chargpt
