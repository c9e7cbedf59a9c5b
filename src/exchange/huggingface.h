// Folders that transformers loads and saves (config.json, model.safetensors,
// tokenizer.json): models with the layout of GPT-2, Llama or Qwen3, other
// gpt models with code in the folder, and tokenizers of single characters.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "exchange/layout.h"
#include "network/model.h"
#include "run/checkpoint.h"
#include "text/corpus.h"
#include "text/vocabulary.h"

namespace chargpt {

/// A model to export.
struct ExportedModel {
  const Checkpoint& checkpoint;
  const InferenceModel& model;  ///< with the chosen weights
  std::string license;          ///< of the model, as Hugging Face names licenses: "unknown"

  const Config& config() const { return checkpoint.config.config; }
  const ModelConfig& options() const { return checkpoint.config.config.model; }
  const Vocabulary& vocabulary() const { return checkpoint.vocabulary; }
  const RunState& state() const { return checkpoint.state; }
};

struct ExportedFile {
  std::string name, bytes;
};
struct ExportedFolder {
  std::vector<ExportedFile> files;
  std::vector<std::string> notices;  ///< for people
};

/// Converts the model. Throws Error usage naming the first option that transformers cannot express.
ExportedFolder as_huggingface(const ExportedModel& model);

/// Throws Error busy if `path` exists, io if it cannot be checked.
void refuse_existing(const std::filesystem::path& path);

/// Writes OUT.partial, then renames it to `out`. Throws Error busy if either exists, io if writing fails.
void write_folder(const std::filesystem::path& out, const std::vector<ExportedFile>& files);

/// A model read from another program's files.
struct ImportedModel {
  ResolvedConfig config;
  Vocabulary vocabulary;
  std::vector<OwnTensor> parameters;   ///< by our names, in our shapes
  Fingerprint text{};                  ///< of its training text, if known
  std::string what{};                  ///< "GPT-2 of transformers", for people
  std::vector<std::string> notices{};  ///< for people: changes and omissions
};

/// Reads such a folder. Throws Error data, missing or io, naming the file and the problem.
ImportedModel read_huggingface(const std::filesystem::path& path);

/// Writes config and checkpoint of an imported model into the folder of a new run, for sample, eval, inspect and train
/// --init_from.
void write_imported_run(const std::filesystem::path& run, const ImportedModel& model,
                        const std::string& program_version);

}  // namespace chargpt
