#include "checkpoint/contents.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/manifest.h"
#include "checkpoint/state_json.h"
#include "checkpoint/strict_json.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_small_file_bytes = 64 << 20;

nlohmann::json read_json(const fs::path& path) {
  return parse_strict_json(read_regular_file(path, max_small_file_bytes), printable_path(path));
}

void check_start_symbol(const Checkpoint& checkpoint) {
  if (checkpoint.state.start_symbol >= checkpoint.vocabulary.size())
    throw Error(ExitCode::data, printable_path(checkpoint.path / state_file) + ": start_symbol " +
                                    std::to_string(checkpoint.state.start_symbol) + " is none of the " +
                                    std::to_string(checkpoint.vocabulary.size()) + " symbols");
}

}  // namespace

RunState read_state(const fs::path& folder) {
  const fs::path path = folder / state_file;
  const RunState state = run_state_from_json(read_json(path), printable_path(path));
  const auto named = checkpoint_step(folder.filename().string());
  if (named && *named != state.step)
    throw Error(ExitCode::data, printable_path(path) + " is of step " + std::to_string(state.step) +
                                    ", its folder of step " + std::to_string(*named));
  return state;
}

Vocabulary read_vocabulary(const fs::path& folder) {
  const fs::path path = folder / vocabulary_file;
  return Vocabulary::from_json(read_json(path), printable_path(path));
}

// The config room's messages speak to the author of a config file; here nobody wrote one, so they mean damage.
ResolvedConfig read_config(const fs::path& folder) {
  const fs::path path = folder / config_file;
  const std::string text = read_regular_file(path, max_small_file_bytes);
  if (StrictObject(parse_strict_json(text, printable_path(path)), printable_path(path)).has("extends"))
    throw Error(ExitCode::data,
                printable_path(path) + " extends another file; the config of a checkpoint stands alone");
  try {
    return parse_config(text, printable_path(path), folder);
  } catch (const Error& error) {
    throw Error(ExitCode::data, error.what());
  }
}

RunState read_checked_state(const fs::path& folder) {
  check_file(folder / state_file, read_manifest(folder).at(state_file));
  return read_state(folder);
}

Checkpoint read_checkpoint(const fs::path& folder, bool with_optimizer) {
  const Manifest manifest = read_manifest(folder);
  for (const auto& [name, sum] : manifest)
    if (with_optimizer || name != optimizer_file) check_file(folder / name, sum);
  Checkpoint checkpoint{folder, read_state(folder), read_vocabulary(folder), read_config(folder), nullptr, nullptr,
                        nullptr};
  check_start_symbol(checkpoint);
  checkpoint.model = std::make_unique<SafetensorsFile>(folder / model_file);
  if (manifest.contains(averaged_file)) checkpoint.averaged = std::make_unique<SafetensorsFile>(folder / averaged_file);
  if (with_optimizer) checkpoint.optimizer = std::make_unique<SafetensorsFile>(folder / optimizer_file);
  return checkpoint;
}

}  // namespace chargpt
