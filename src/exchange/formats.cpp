#include "exchange/formats.h"

#include <algorithm>

namespace chargpt {
namespace {

/// All names that this version and earlier ones write.
constexpr std::string_view huggingface_files[] = {
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
    "README.md",   "model.safetensors",      "chargpt.json",   "modeling_chargpt.py"};
constexpr std::string_view nanogpt_files[] = {"model.safetensors", "optimizer.safetensors", "nanogpt.json"};

constexpr Format table[] = {
    {"huggingface",
     "a folder that transformers loads (AutoModelForCausalLM, AutoTokenizer)",
     "",
     {.names = huggingface_files},
     false,
     write_huggingface,
     is_huggingface,
     read_huggingface},
    {"nanogpt",
     "a folder that scripts/chargpt_to_nanogpt.py makes ckpt.pt and meta.pkl of",
     "",
     {.names = nanogpt_files},
     true,
     write_nanogpt,
     is_nanogpt,
     read_nanogpt},
    {"gguf", "a file that llama.cpp reads", ".gguf", {.is_own_file = is_own_gguf}, false, write_gguf, nullptr, nullptr},
};

}  // namespace

std::span<const Format> formats() {
  return table;
}

const Format& format_of(std::string_view name) {
  return *std::ranges::find(table, name, &Format::name);
}

}  // namespace chargpt
