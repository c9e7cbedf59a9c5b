// Config texts and where they come from: a file, or a preset in the program; and what their `extends` leads to.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "config/source.h"

namespace chargpt {

struct Preset {
  std::string name;  ///< "default", "ladder/bigram"
  std::string json;  ///< the file's text, comments included
};

/// All of configs/**.json, compiled into the program, in order of name.
std::span<const Preset> presets();
/// Null if there is none.
const Preset* find_preset(const std::string& name);

/// What the presets reached where they were measured: configs/expected.json, compiled into the program, as
/// scripts/measure/presets.py wrote it: {"version","defaults","machines":{name:{…}},"rows":{preset:{"config",
/// "loss","ci95":[low,high],"seconds","params","runs":[…],"date","machine"} or {"config","not_measured"}}}.
std::string_view expected_figures();

/// One config text and what its relative `extends` starts from.
struct ConfigText {
  Source source;
  std::string text;
  std::string identity;  ///< equal for the same file or preset, to find cycles
  bool is_preset = false;
  std::filesystem::path folder;  ///< of the file, or of the preset's name
  std::string name;              ///< of the config where its text gives none
  std::size_t most_bytes = max_config_bytes;
};

/// What a command line calls CONFIG: a preset's name, without its "ladder/" too, or a file. Errors as read_file; usage
/// for a folder or a file that is not a config; missing, with the nearest preset, if there is neither.
ConfigText named_document(const std::string& name_or_path);
/// "mine" of "configs/mine.json".
std::string name_of_file(const std::filesystem::path& path);

/// The document that `extends` names: for a file, a file beside it or a preset; for a preset, one beside it or any
/// other. Error missing if there is neither, usage if it is not a string.
ConfigText extended_document(const ConfigText& from, const nlohmann::json& extends);

}  // namespace chargpt
