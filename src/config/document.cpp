#include "config/document.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "config/decode.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

std::string without_json(const std::string& path) {
  return path.ends_with(".json") ? path.substr(0, path.size() - 5) : path;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

std::string nearest_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return did_you_mean(name, names);
}

const Preset* find_preset(const std::string& name) {
  const auto all = presets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Preset& preset) { return preset.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Document preset_document(const Preset& preset) {
  const std::string label = "preset " + preset.name;
  return {{label}, preset.json, label, true, fs::path(preset.name).parent_path()};
}

Document file_document(const fs::path& path) {
  const std::string label = printable(path.native(), 400);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const bool is_run = is_there(path / "config.json");
    throw Error(ExitCode::usage, label + " is a folder, not a config file" +
                                     (is_run ? "; its config is " + (fs::path(label) / "config.json").native() : ""));
  }
  const fs::path canonical = fs::weakly_canonical(path, ignored);
  std::string text = read_file(path, max_config_bytes);
  return {{label}, std::move(text), canonical.native(), false, path.parent_path()};
}

Document extended_document(const Document& from, const Value& extends) {
  const std::string place = from.source.place(extends.line), said = "extends = " + shown(extends);
  if (extends.kind != Value::Kind::string)
    throw Error(ExitCode::usage, place + ": " + said + " is " + kind_name(extends) + "; it takes a file or a preset");
  const fs::path path = (from.folder / extends.text).lexically_normal();
  if (!from.is_preset && !extends.text.empty() && is_there(path)) return file_document(path);
  if (from.is_preset)
    if (const Preset* beside = find_preset(without_json(path.generic_string()))) return preset_document(*beside);
  if (const Preset* preset = find_preset(extends.text)) return preset_document(*preset);
  const std::string near = nearest_preset(without_json(extends.text));
  const bool elsewhere = !from.is_preset && path != extends.text;
  throw Error(ExitCode::missing, place + ": " + said + " is neither a file" +
                                     (elsewhere ? " (" + printable(path.native(), 400) + ")" : "") + " nor a preset" +
                                     near);
}

}  // namespace chargpt
