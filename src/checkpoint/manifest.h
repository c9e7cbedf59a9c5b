// MANIFEST.json of a checkpoint: which files belong to it, how long they are and what they sum to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/open_folder.h"

namespace chargpt {

inline constexpr const char* model_file = "model.safetensors";
inline constexpr const char* optimizer_file = "optimizer.safetensors";
inline constexpr const char* averaged_file = "averaged.safetensors";  ///< only where weights are averaged
inline constexpr const char* state_file = "state.json";
inline constexpr const char* vocabulary_file = "vocab.json";
inline constexpr const char* config_file = "config.json";
inline constexpr const char* manifest_file = "MANIFEST.json";

/// Whether a checkpoint has a file of that name.
bool is_checkpoint_file(std::string_view name);

struct FileSum {
  std::uint64_t bytes = 0;
  std::uint64_t crc64 = 0;
  bool operator==(const FileSum&) const = default;
};

/// By name: the files above it.
using Manifest = std::map<std::string, FileSum>;

std::string manifest_text(const Manifest& manifest);

/// Error data naming `source` unless it lists exactly the files of a checkpoint; other names are never taken from it.
Manifest parse_manifest(std::string_view text, const std::string& source);

/// Reads folder's MANIFEST.json. Error data where it is missing or damaged.
Manifest read_manifest(const OpenFolder& folder);

/// The bytes of a file that has that size and sum: what was checked is what is used, whatever becomes of the file.
/// Error data unless it is there and has them, io where it cannot be read.
std::string read_checked(const OpenFolder& folder, const std::string& name, const FileSum& sum);

}  // namespace chargpt
