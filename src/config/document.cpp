#include "config/document.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/embedded.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"

namespace chargpt {
namespace {

/// Says what a path is instead of a config, and which command takes it; "" if it may be a config, that is, if its text
/// begins with an object or a comment.
std::string other_use(const fs::path& path) {
  const std::string type = path.extension().native(), quoted = shell_quoted(path.native());
  if (type == ".py") return "Python, not a config; start from a preset (chargpt configs lists them) and add options";
  if (is_folder(path)) return "a folder, not a config; to train on the texts in it: chargpt train --text " + quoted;
  const std::string bytes = is_file(path) ? read_stretch(path, 0, 512, Links::follow).bytes : "";
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (type == ".json" || type == ".jsonc" || first == std::string::npos || bytes[first] == '{' || bytes[first] == '/')
    return "";
  if (type == ".safetensors") return "a checkpoint, not a config; to start from its weights: --init_from " + quoted;
  if (const auto kind = kind_of_file(bytes))
    return line_of(kind->name, ", not a config; ", kind->advice, " and pass it with --text FILE");
  if (bytes.find('\0') != std::string::npos) return "";
  return "a text, not a config (it does not begin with {); to train on it: chargpt train --text " + quoted;
}

/// "; did you mean nanogpt-cpu?", or "" if no preset's name is near.
std::string nearest_preset(const std::string& name) {
  return name.size() < 4 ? "" : did_you_mean(name, preset_names());  // gpt is a model type, and should not suggest gpu
}

ConfigText preset_document(const std::string& name) {
  return {{"preset " + name}, std::string(preset_text(name)), /*is_preset=*/true, fs::path(name).parent_path(), name};
}

/// Reads a config file. Errors as read_file; usage for a folder or another kind of file.
ConfigText file_document(const fs::path& path) {
  constexpr std::size_t most_bytes = 16 << 20;  // a run's config.json has a line for each of many texts
  const std::string label = printable_path(path), use = other_use(path);
  if (!use.empty()) throw Error(ExitCode::usage, label, " is ", use);
  return {{label}, read_file(path, most_bytes), /*is_preset=*/false, path.parent_path(), name_of_file(path)};
}

}  // namespace

bool is_model_of_transformers(const fs::path& folder) {
  return is_file(folder / "config.json") && is_file(folder / "tokenizer.json");
}

std::string name_of_file(const fs::path& path) {
  const std::string stem = printable(path.stem().native(), 90);
  return stem.empty() ? "config" : stem;
}

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> all = [] {
    constexpr std::string_view folder = "configs/", suffix = ".json";
    std::vector<std::string> found;
    for (const auto& [path, text] : embedded_files())
      if (path.starts_with(folder) && path.ends_with(suffix) && path != "configs/expected.json")
        found.emplace_back(path.substr(folder.size(), path.size() - folder.size() - suffix.size()));
    std::ranges::sort(found);
    return found;
  }();
  return all;
}

std::string_view preset_text(const std::string& name) {
  return embedded_file("configs/" + name + ".json");
}

std::string preset_meant(const std::string& name) {
  const std::string rung = "ladder/" + name;
  if (std::ranges::count(preset_names(), name) > 0) return name;
  return std::ranges::count(preset_names(), rung) > 0 && !is_there(name) ? rung : "";
}

ConfigText named_document(const std::string& name_or_path) {
  if (const std::string preset = preset_meant(name_or_path); !preset.empty()) return preset_document(preset);
  if (const fs::path kept = fs::path(name_or_path) / "config.json"; is_file(kept))  // a run
    return file_document(kept);
  if (is_there(name_or_path)) return file_document(name_or_path);
  if (name_or_path.ends_with(".json"))
    throw Error(ExitCode::missing, printable_path(name_or_path), " does not exist", nearest_entry(name_or_path));
  if (const std::string use = other_use(name_or_path); !use.empty())
    throw Error(ExitCode::usage, printable(name_or_path), " is ", use);
  std::string near = nearest_preset(name_or_path);
  if (near.empty()) near = nearest_entry(name_or_path);
  throw Error(ExitCode::missing, printable(name_or_path), " is neither a preset nor a file", near,
              near.empty() ? ";" : "", " chargpt configs lists the presets",
              name_or_path.ends_with(".txt") ? "; give a text with --text FILE" : "");
}

ConfigText extended_document(const ConfigText& from, const nlohmann::json& extends) {
  const std::string said = from.source.place("extends") + ": extends = " + shown(extends);
  if (!extends.is_string()) throw Error(ExitCode::usage, said, " is not a file or a preset");
  const std::string name = extends;
  fs::path path = from.folder.value() / name;
  std::error_code elsewhere_or_absent;  // "..": after a link only the system knows the folder
  if (fs::equivalent(path, path.lexically_normal(), elsewhere_or_absent)) path = path.lexically_normal();
  if (!from.is_preset && !name.empty() && is_there(path)) return file_document(path);
  std::string preset = from.is_preset ? preset_meant(path.lexically_normal().replace_extension().generic_string()) : "";
  if (preset.empty()) preset = preset_meant(name);
  if (!preset.empty()) return preset_document(preset);
  const bool elsewhere = !from.is_preset && path.lexically_normal() != name;
  throw Error(ExitCode::missing, said, " is neither a file", elsewhere ? " (" + printable_path(path) + ")" : "",
              " nor a preset", nearest_preset(fs::path(name).replace_extension()));
}

}  // namespace chargpt
