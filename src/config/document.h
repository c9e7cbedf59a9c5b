// Config texts and their sources: a file, or a preset compiled into the program. Also follows `extends`.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/source.h"

namespace chargpt {

/// The names of configs/**.json, which are compiled into the program, sorted: "default", "ladder/bigram".
const std::vector<std::string>& preset_names();
/// The text of a preset, comments included. Error internal if there is no such name.
std::string_view preset_text(const std::string& name);
/// The full name of the preset that a user means; "" if there is none. Where nothing has that path, "ladder/" may be
/// left out.
std::string preset_meant(const std::string& name);

struct ConfigText {
  Source source;
  std::string text;
  bool is_preset = false;
  /// Of the file, or of the preset's name: a relative `extends` starts there. nullopt: the text must be complete.
  std::optional<std::filesystem::path> folder;
  std::string name;  ///< the config's name if its text gives none
};

/// Finds the CONFIG of a command line: a preset's name, with or without "ladder/", a run folder, or a file. Errors: as
/// read_file; usage for a folder or a file that is not a config; missing, with the nearest preset, if nothing has that
/// name.
ConfigText named_document(const std::string& name_or_path);
/// Whether a folder is a model in the format of transformers, which chargpt may have exported.
bool is_model_of_transformers(const std::filesystem::path& folder);
/// "mine" for "configs/mine.json".
std::string name_of_file(const std::filesystem::path& path);

/// Finds what `extends` names. In a file: a file in the same folder, or a preset. In a preset: a preset in the same
/// folder, or any other. Errors: missing if nothing has that name, usage if `extends` is not a string.
ConfigText extended_document(const ConfigText& from, const nlohmann::json& extends);

}  // namespace chargpt
