// The table of formats of other programs, what reads and writes each, and models on their way out and in. A new one is
// its functions here and a row in formats.cpp. No format knows another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "exchange/layout.h"
#include "network/model.h"
#include "run/checkpoint.h"
#include "run/safetensors.h"
#include "text/corpus.h"
#include "text/vocabulary.h"

namespace chargpt {

/// Where an export is written: beside its place, as OUT.partial, which gets its name when it is whole.
class OutputFolder {
 public:
  enum class Kind { folder, file };
  /// Error busy where `out` or OUT.partial exists. Errors: io.
  OutputFolder(const std::filesystem::path& out, Kind kind);
  /// Removes an unfinished export.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// A file of the folder; or the one file, whatever the name.
  void write(const std::string& name, std::string_view text);
  /// `write_to` hands the bytes to the sink piece by piece.
  void write(const std::string& name, const std::function<void(const ByteSink& sink)>& write_to);
  /// Adds the mark of an export to a folder, {"format": "chargpt export", "version": 1, "files": […]}; then the export
  /// appears under its name. Error busy where something has taken it; io.
  void finish();

  /// Written so far.
  const std::vector<std::string>& files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::filesystem::path out_, partial_;
  Kind kind_;
  std::vector<std::string> files_;
  std::uint64_t bytes_ = 0;
};

/// A model on its way into another program's format.
struct ExportedModel {
  const Checkpoint& checkpoint;  ///< its optimizer is there only for formats that want it
  const InferenceModel& model;   ///< with the weights that were chosen
  std::string license;           ///< of the model, as Hugging Face names licenses: "unknown"

  const Config& config() const { return checkpoint.config.config; }
  const ModelConfig& options() const { return checkpoint.config.config.model; }
  const Vocabulary& vocabulary() const { return checkpoint.vocabulary; }
  const RunState& state() const { return checkpoint.state; }
};

/// A model that another program wrote.
struct ImportedModel {
  ResolvedConfig config;
  Vocabulary vocabulary;
  std::vector<OwnTensor> parameters;     ///< by our names, in our shapes
  std::vector<OwnTensor> optimizer{};    ///< empty: none came along, so the run cannot be resumed
  std::int64_t step = 0, max_iters = 0;  ///< as far as the file tells
  Fingerprint text{};                    ///< of the text that it was trained on, where that is known
  std::string what{};                    ///< "GPT-2 of transformers", for people
  std::vector<std::string> notices{};    ///< for people: what was changed or left out
};

struct Format {
  std::string_view name;    ///< of --format
  std::string_view what;    ///< who reads it
  std::string_view suffix;  ///< of a format that is one file: ".gguf"; empty: a folder
  bool with_optimizer;      ///< its writer looks at the optimizer's state
  /// Writes the files of the folder, or the one file. Returns notices: what the other program computes differently.
  /// Error usage, in one line that names the first option it cannot express, where the format cannot hold the model.
  std::vector<std::string> (*write)(const ExportedModel& model, OutputFolder& folder);
  /// Whether a path looks like it; null where the format is only written.
  bool (*recognises)(const std::filesystem::path& path);
  /// Errors: data, missing, io, naming the file and what is wrong with it.
  ImportedModel (*read)(const std::filesystem::path& path);
};

std::span<const Format> formats();
/// The one of that name, which must exist.
const Format& format_of(std::string_view name);

/// Error usage with the line of architecture.h, if there is one.
void refuse_obstacle(const std::optional<std::string>& line);

// ---- imported models, as a run of ours keeps them

/// The config of a run with these sections ({"model": {"n_layer": 4, …}, "train": {…}}), the name of `folder`, where it
/// can have that, and a text that is not known. `source` names the file that they were read from. Error data where an
/// option is out of range or options do not fit together.
ResolvedConfig imported_config(nlohmann::ordered_json sections, const std::filesystem::path& folder,
                               const std::string& source);

/// An imported model becomes a run, which sample, eval, inspect and train --init_from take: writes config and
/// checkpoint into the folder of a run that has begun.
void write_imported_run(const std::filesystem::path& run, const ImportedModel& model,
                        const std::string& program_version);

// ---- huggingface: folders that transformers loads and saves, with config.json, model.safetensors, tokenizer.json.
// Models of GPT-2's, Llama's and Qwen3's layout, all others of type gpt by code that the folder brings along, and
// tokenizers of single characters.

std::vector<std::string> write_huggingface(const ExportedModel& model, OutputFolder& folder);
/// A folder with config.json and tokenizer.json, and no run.
bool is_huggingface(const std::filesystem::path& path);
ImportedModel read_huggingface(const std::filesystem::path& path);

// ---- nanogpt: checkpoints of nanoGPT (github.com/karpathy/nanoGPT) by way of a folder that holds no pickle, which
// scripts/nanogpt_to_chargpt.py and scripts/chargpt_to_nanogpt.py turn into ckpt.pt and meta.pkl and back:
//   model.safetensors      parameters by the names of nanoGPT's state dict, float32; the head is the token embedding
//   optimizer.safetensors  "<parameter>.exp_avg" and "<parameter>.exp_avg_sq" of AdamW, and "step"; absent without them
//   nanogpt.json           model_args, config and iter_num of ckpt.pt; "symbols": the characters, by id

std::vector<std::string> write_nanogpt(const ExportedModel& model, OutputFolder& folder);
/// A folder with nanogpt.json.
bool is_nanogpt(const std::filesystem::path& path);
ImportedModel read_nanogpt(const std::filesystem::path& path);

// ---- gguf: the one file that llama.cpp reads, metadata and tensors. Models of its architectures gpt2, llama and
// qwen3, and a vocabulary of characters or bytes. Source: github.com/ggml-org/ggml, docs/gguf.md, version 3.

std::vector<std::string> write_gguf(const ExportedModel& model, OutputFolder& folder);

}  // namespace chargpt
