#include "config/document.h"

#include <algorithm>
#include <fstream>

#include "base/embedded.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

std::string without_json(const std::string& path) {
  return path.ends_with(".json") ? path.substr(0, path.size() - 5) : path;
}

/// The first bytes of a file; empty if it cannot be read: reading it reports that.
std::string first_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kind_bytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

/// Whether a file with this name and these first bytes is meant as JSON: an object, or a comment before one.
bool begins_like_a_config(const fs::path& path, const std::string& bytes) {
  const std::string type = path.extension().native();
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (type == ".json" || type == ".jsonc" || first == std::string::npos) return true;
  return bytes[first] == '{' || bytes[first] == '/';
}

/// Error usage for a folder in place of a config, naming the option that takes it.
[[noreturn]] void refuse_folder(const fs::path& path, const std::string& label) {
  const std::string quoted = shell_quoted(path.native());
  if (is_there(path / "config.json"))
    throw Error(ExitCode::usage, label, " is a run, not a config; chargpt resume ", quoted,
                " goes on with it, and its config is ", printable_path(path / "config.json"));
  throw Error(ExitCode::usage, label, " is a folder, not a config; to train on the texts in it: chargpt train --text ",
              quoted);
}

/// The same for a file whose first bytes are not those of a config.
void refuse_other_file(const fs::path& path, const std::string& label) {
  if (!is_file(path)) return;
  const std::string bytes = first_bytes(path);
  if (begins_like_a_config(path, bytes)) return;
  if (path.extension() == ".safetensors")
    throw Error(ExitCode::usage, label, " is a checkpoint, not a config; to start from its weights: --init_from ",
                shell_quoted(path.native()));
  if (const auto kind = kind_of_file(bytes))
    throw Error(ExitCode::usage, label, " is ", kind->name, ", not a config; ", kind->advice,
                " and pass it with --text FILE");
  if (bytes.find('\0') == std::string::npos)
    throw Error(ExitCode::usage, label,
                " is a text, not a config (it does not begin with {); to train on it: chargpt train --text ",
                shell_quoted(path.native()));
}

/// What nanoGPT calls a config or a checkpoint.
void refuse_foreign_file(const std::string& name) {
  if (name.ends_with(".py"))
    throw Error(ExitCode::usage, printable(name),
                " is Python, and configs are JSON here: start from a preset (chargpt configs lists them; nanogpt-cpu "
                "is nanoGPT's), and give what differs as options, such as --n_layer 6");
  if (name.ends_with(".pt") || name.ends_with(".pth"))
    throw Error(ExitCode::usage, printable(name),
                " is a PyTorch checkpoint, not a config; for nanoGPT's: python -m chargpt.nanogpt to-run ckpt.pt "
                "meta.pkl RUN, then chargpt resume RUN");
}

/// "; did you mean nanogpt-cpu?", or the empty string.
std::string nearest_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return did_you_mean(name, names);
}

Document preset_document(const Preset& preset) {
  const std::string label = "preset " + preset.name;
  return {{label}, preset.json, label, true, fs::path(preset.name).parent_path(), preset.name};
}

/// Errors as read_file, and usage for a folder.
Document file_document(const fs::path& path) {
  const std::string label = printable_path(path);
  std::error_code ignored;
  if (is_folder(path)) refuse_folder(path, label);
  refuse_other_file(path, label);
  const fs::path canonical = fs::weakly_canonical(path, ignored);
  std::string text = read_file(path, max_config_bytes);
  return {{label}, std::move(text), canonical.native(), false, path.parent_path(), name_of_file(path)};
}

}  // namespace

std::string name_of_file(const fs::path& path) {
  const std::string stem = printable(path.stem().native(), 90);
  return stem.empty() ? "config" : stem;
}

std::span<const Preset> presets() {
  static const std::vector<Preset> all = [] {
    constexpr std::string_view folder = "configs/", suffix = ".json";
    std::vector<Preset> found;
    for (const auto& [path, text] : embedded_files())
      if (path.starts_with(folder) && path.ends_with(suffix) && path != "configs/expected.json")
        found.push_back(
            {std::string(path.substr(folder.size(), path.size() - folder.size() - suffix.size())), std::string(text)});
    std::ranges::sort(found, {}, &Preset::name);
    return found;
  }();
  return all;
}

std::string_view expected_figures() {
  return embedded_file("configs/expected.json");
}

const Preset* find_preset(const std::string& name) {
  const auto all = presets();
  const auto found = std::ranges::find(all, name, &Preset::name);
  return found == all.end() ? nullptr : &*found;
}

Document named_document(const std::string& name_or_path) {
  if (const Preset* preset = find_preset(name_or_path)) return preset_document(*preset);
  refuse_foreign_file(name_or_path);
  if (is_there(name_or_path)) return file_document(name_or_path);
  if (const std::string near = nearest_entry(name_or_path); name_or_path.ends_with(".json") && !near.empty())
    throw Error(ExitCode::missing, printable_path(name_or_path), " does not exist", near);
  if (name_or_path.ends_with(".json")) return file_document(name_or_path);
  if (const Preset* preset = find_preset("ladder/" + name_or_path)) return preset_document(*preset);
  std::string near = name_or_path == "gpt"
                         ? "; that is a model's type, and most presets are of it: chargpt configs lists them"
                         : nearest_preset(name_or_path);
  if (near.empty()) near = nearest_entry(name_or_path);
  throw Error(ExitCode::missing, printable(name_or_path), " is neither a preset nor a file",
              near.empty() ? "; chargpt configs lists the presets" : near,
              name_or_path.ends_with(".txt") ? "; give a text with --text FILE" : "");
}

Document extended_document(const Document& from, const Value& extends) {
  const std::string place = from.source.place(extends.line), said = "extends = " + shown(extends);
  if (extends.kind != Value::Kind::string)
    throw Error(ExitCode::usage, place, ": ", said, " is ", kind_name(extends), "; it takes a file or a preset");
  fs::path path = from.folder / extends.text;
  std::error_code elsewhere_or_absent;  // ".." behind a link leads where the system says
  if (fs::equivalent(path, path.lexically_normal(), elsewhere_or_absent)) path = path.lexically_normal();
  if (!from.is_preset && !extends.text.empty() && is_there(path)) return file_document(path);
  if (from.is_preset)
    if (const Preset* beside = find_preset(without_json(path.lexically_normal().generic_string())))
      return preset_document(*beside);
  if (const Preset* preset = find_preset(extends.text)) return preset_document(*preset);
  const std::string near = nearest_preset(without_json(extends.text));
  const bool elsewhere = !from.is_preset && path.lexically_normal() != extends.text;
  throw Error(ExitCode::missing, place, ": ", said, " is neither a file",
              elsewhere ? " (" + printable_path(path) + ")" : "", " nor a preset", near);
}

}  // namespace chargpt
