// MANIFEST.json; see checkpoint.h.
#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/strict_json.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

constexpr int current_version = 1;
constexpr std::uint64_t max_manifest_bytes = 1 << 16;
constexpr std::array names = {model_file, optimizer_file, state_file, vocabulary_file, config_file};

}  // namespace

bool is_checkpoint_file(std::string_view name) {
  return name == manifest_file || name == averaged_file || std::find(names.begin(), names.end(), name) != names.end();
}

std::string manifest_text(const Manifest& manifest) {
  nlohmann::ordered_json files;
  for (const auto& [name, sum] : manifest) files[name] = {{"bytes", sum.bytes}, {"crc64", json_hex(sum.crc64)}};
  return json_text({{"format", "chargpt checkpoint"}, {"version", current_version}, {"files", files}});
}

Manifest parse_manifest(std::string_view text, const std::string& source) {
  const nlohmann::json json = parse_strict_json(text, source);
  const StrictObject object(json, source);
  if (object.text("format") != "chargpt checkpoint")
    throw Error(ExitCode::data, source, " is no manifest of a chargpt checkpoint");
  object.version("checkpoint format", current_version);
  const StrictObject files = object.object("files");
  Manifest manifest;
  const auto add = [&](const char* name) {
    const StrictObject file = files.object(name);
    manifest[name] = {static_cast<std::uint64_t>(file.integer("bytes", 0)), file.hex("crc64")};
  };
  for (const char* name : names) add(name);
  if (files.has(averaged_file)) add(averaged_file);
  if (object.field("files").size() != manifest.size())
    throw Error(ExitCode::data, source, " lists files that are no part of a checkpoint");
  return manifest;
}

Manifest read_manifest(const OpenFolder& folder) {
  const std::string source = printable_path(folder.path() / manifest_file);
  try {
    return parse_manifest(folder.read(manifest_file, max_manifest_bytes), source);
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing) throw;
    throw Error(ExitCode::data, source, " is missing, so the checkpoint is not complete");
  }
}

std::string read_checked(const OpenFolder& folder, const std::string& name, const FileSum& sum) {
  const std::filesystem::path path = folder.path() / name;
  const auto refuse_size = [&](std::uint64_t size) {
    throw Error(ExitCode::data, path, " is damaged: it has ", size, " bytes, and ", manifest_file, " says ", sum.bytes);
  };
  try {
    const Descriptor file = folder.open(name);
    if (const std::uint64_t size = file_size(file, path); size != sum.bytes) refuse_size(size);
    std::string bytes = read_open_file(file, sum.bytes, path);
    if (bytes.size() != sum.bytes) refuse_size(bytes.size());
    const std::uint64_t found = crc64(bytes);
    if (found != sum.crc64)
      throw Error(ExitCode::data, path, " is damaged: its CRC-64 is ", json_hex(found), ", and ", manifest_file,
                  " says ", json_hex(sum.crc64));
    return bytes;
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing) throw;
    throw Error(ExitCode::data, path, " is missing from the checkpoint");
  }
}

}  // namespace chargpt
