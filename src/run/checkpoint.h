// A checkpoint: one safetensors file, complete or absent, with weights, moments and, in its metadata, config,
// vocabulary and state. Pure data; no tensor library and no model. A file from strangers is untrusted until it is
// parsed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/load.h"
#include "run/safetensors.h"
#include "run/state.h"
#include "text/vocabulary.h"

namespace chargpt {

struct Checkpoint {
  std::filesystem::path path;
  RunState state;
  Vocabulary vocabulary;
  ResolvedConfig config;
  SafetensorsFile file;  ///< has the bytes of these tensors
  Tensors model;         ///< trained weights, under nanoGPT's names
  Tensors averaged{};    ///< the same of averaged weights; empty if none are averaged
  Tensors optimizer{};   ///< "moment1.NAME" and "moment2.NAME"; empty if they were not read
};

struct CheckpointToSave {
  const RunState& state;
  const Vocabulary& vocabulary;
  const ResolvedConfig& config;
  std::span<const TensorView> model;
  std::span<const TensorView> optimizer;
  std::span<const TensorView> averaged = {};  ///< empty if none are averaged
};

/// 2000 -> "step-00002000"
std::string checkpoint_name(std::int64_t step);
/// The step of a name such as "step-00002000.safetensors", of that extension; none for any other name.
std::optional<std::int64_t> step_of(std::string_view name, std::string_view extension);
inline constexpr std::string_view checkpoint_extension = ".safetensors";

/// Writes a file that is complete or absent. Errors: io.
void write_checkpoint(const std::filesystem::path& path, const CheckpointToSave& checkpoint);

/// Reads a file, the optimizer's part only `with_optimizer`, and compares checksums. Errors: missing, io, data naming
/// the file and what is wrong with it; NewerFormat if a newer program wrote it.
Checkpoint read_checkpoint(const std::filesystem::path& path, bool with_optimizer);

/// The same of a file's bytes, which must outlive it; messages call them `path`.
Checkpoint read_checkpoint(std::span<const std::byte> bytes, const std::filesystem::path& path);

/// The state alone, by the file's header, whose checksum is not compared. Errors as read_checkpoint.
RunState read_state(const std::filesystem::path& path);

/// The config of a run folder. Errors: missing, io, data naming the file and what is wrong with it.
ResolvedConfig read_config(const std::filesystem::path& run);

}  // namespace chargpt
