// Config texts and where they come from: a file, or a preset in the program; and what their `extends` leads to.
#pragma once

#include <filesystem>
#include <string>

#include "config/load.h"
#include "config/source.h"

namespace chargpt {

/// One config text and what its relative `extends` starts from.
struct Document {
  Source source;
  std::string text;
  std::string identity;  ///< equal for the same file or preset, to find cycles
  bool is_preset = false;
  std::filesystem::path folder;  ///< of the file, or of the preset's name
  std::string name;              ///< of the config where its text gives none
  std::size_t most_bytes = max_config_bytes;
};

/// Null if there is none.
const Preset* find_preset(const std::string& name);

/// What a command line calls CONFIG: a preset's name, without its "ladder/" too, or a file. Errors as read_file; usage
/// for a folder; missing, with the nearest preset, if there is neither.
Document named_document(const std::string& name_or_path);
/// "mine" of "configs/mine.json".
std::string name_of_file(const std::filesystem::path& path);

/// The document that `extends` names: for a file, a file beside it or a preset; for a preset, one beside it or any
/// other. Error missing if there is neither, usage if it is not a string.
Document extended_document(const Document& from, const Value& extends);

}  // namespace chargpt
