// A checkpoint: one safetensors file, complete or absent. Its tensors are weights and moments; its metadata has config,
// vocabulary and state. Independent of tensor libraries and models. A file is untrusted input until it is parsed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "run/safetensors.h"
#include "run/state.h"
#include "text/vocabulary.h"

namespace chargpt {

/// The steps of a run's last and best checkpoint.
struct Standing {
  std::int64_t last_step = RunProgress::no_step;  ///< no_step: unknown, as for a file outside a run
  std::int64_t best_step = RunProgress::no_step;  ///< no_step: unknown, or no checkpoint was evaluated
};

struct Checkpoint {
  std::filesystem::path path;
  RunState state;
  Vocabulary vocabulary;
  ResolvedConfig config;
  SafetensorsFile file;                ///< owns the bytes of these tensors
  Tensors model{};                     ///< trained weights, under nanoGPT's names
  Tensors averaged{};                  ///< averaged weights, under the same names; empty if none are averaged
  Tensors optimizer{};                 ///< "moment1.NAME" and "moment2.NAME"; empty if not read
  Standing standing{};                 ///< of its run, if load_checkpoint() loaded it
  std::vector<std::string> notices{};  ///< of load_checkpoint(), on the choice of this one
};

struct CheckpointToSave {
  const RunState& state;
  const Vocabulary& vocabulary;
  const ResolvedConfig& config;
  std::span<const TensorView> model;
  std::span<const TensorView> optimizer;
  std::span<const TensorView> averaged = {};  ///< empty if none are averaged
};

/// Removes the folders of texts and teachers, which are private.
Config without_folders(Config config);

/// The name of a step's checkpoint: 2000 -> "step-00002000".
std::string checkpoint_name(std::int64_t step);
/// The step in a name such as "step-00002000.safetensors" with that extension; nullopt for any other name.
std::optional<std::int64_t> step_of(std::string_view name, std::string_view extension);
inline constexpr std::string_view checkpoint_extension = ".safetensors";

/// Writes a checkpoint, complete or not at all. Errors: io.
void write_checkpoint(const std::filesystem::path& path, const CheckpointToSave& checkpoint);

/// Reads a checkpoint and compares its checksums; the optimizer's tensors only if `with_optimizer`. Errors: missing;
/// io; data, naming the file and the fault; NewerFormat if a newer program wrote it.
Checkpoint read_checkpoint(const std::filesystem::path& path, bool with_optimizer);

/// Reads a checkpoint from its bytes, which must outlive it. Messages call it `path`. Errors: data, NewerFormat.
Checkpoint read_checkpoint(std::span<const std::byte> bytes, const std::filesystem::path& path);

/// Reads the state alone, from the file's header, without comparing checksums. Errors as read_checkpoint.
RunState read_state(const std::filesystem::path& path);

/// Reads config.json of a run folder. Errors: missing; io; data, naming the file and the fault.
ResolvedConfig read_config(const std::filesystem::path& run);

}  // namespace chargpt
