// Folders that transformers loads and saves, with config.json, model.safetensors, tokenizer.json: models of GPT-2's,
// Llama's and Qwen3's layout, all others of type gpt by code that the folder brings along, and tokenizers of single
// characters.
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
  const InferenceModel& model;  ///< with the weights that were chosen
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

/// Error usage, in one line that names the first option that transformers cannot express.
ExportedFolder as_huggingface(const ExportedModel& model);

/// Error busy if anything has that path; io.
void refuse_existing(const std::filesystem::path& path);

/// Writes OUT.partial, which gets the name `out` when it is whole. Error busy where one of them exists; io.
void write_folder(const std::filesystem::path& out, const std::vector<ExportedFile>& files);

/// A model that another program wrote.
struct ImportedModel {
  ResolvedConfig config;
  Vocabulary vocabulary;
  std::vector<OwnTensor> parameters;   ///< by our names, in our shapes
  Fingerprint text{};                  ///< of the text that it was trained on, where that is known
  std::string what{};                  ///< "GPT-2 of transformers", for people
  std::vector<std::string> notices{};  ///< for people: what was changed or left out
};

/// A folder with config.json and tokenizer.json, and no run.
bool is_huggingface(const std::filesystem::path& path);

/// Errors: data, missing, io, naming the file and what is wrong with it.
ImportedModel read_huggingface(const std::filesystem::path& path);

/// Writes config and checkpoint of an imported model into the folder of a run that has begun. sample, eval, inspect and
/// train --init_from take such a run.
void write_imported_run(const std::filesystem::path& run, const ImportedModel& model,
                        const std::string& program_version);

}  // namespace chargpt
