// Saving: written whole beside the others, then given its name; see checkpoint.h.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folders.h"
#include "checkpoint/manifest.h"
#include "checkpoint/state_json.h"
#include "report/output_file.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// A file that sums what it is given, so that the manifest tells what was meant rather than what the disk gives back.
class SummedFile {
 public:
  explicit SummedFile(const fs::path& path) : file_(path, OutputFile::Start::empty) {}
  void write(std::span<const std::byte> bytes) {
    file_.write(bytes);
    sum_.crc64 = crc64(bytes, sum_.crc64);
    sum_.bytes += bytes.size();
  }
  FileSum finish() {
    file_.sync_and_close();
    return sum_;
  }

 private:
  OutputFile file_;
  FileSum sum_;
};

FileSum save_tensors(const fs::path& path, std::span<const TensorView> tensors) {
  SummedFile file(path);
  write_safetensors([&](std::span<const std::byte> bytes) { file.write(bytes); }, tensors);
  return file.finish();
}

FileSum save_text(const fs::path& path, const std::string& text) {
  SummedFile file(path);
  file.write(std::as_bytes(std::span(text)));
  return file.finish();
}

FileSum save_json(const fs::path& path, const nlohmann::ordered_json& json, int indent) {
  return save_text(path, json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void write_files(const fs::path& folder, const CheckpointToSave& checkpoint) {
  std::error_code failure;
  fs::create_directory(folder, failure);
  if (failure)
    throw Error(ExitCode::io, "cannot make the folder " + printable(folder.native(), 400) + ": " + failure.message());
  Manifest manifest;
  manifest[model_file] = save_tensors(folder / model_file, checkpoint.model);
  manifest[optimizer_file] = save_tensors(folder / optimizer_file, checkpoint.optimizer);
  if (!checkpoint.averaged.empty()) manifest[averaged_file] = save_tensors(folder / averaged_file, checkpoint.averaged);
  manifest[state_file] = save_json(folder / state_file, to_json(checkpoint.state), 2);
  manifest[vocabulary_file] = save_json(folder / vocabulary_file, checkpoint.vocabulary.to_json(), -1);
  manifest[config_file] = save_json(folder / config_file, to_json(checkpoint.config), 2);
  save_text(folder / manifest_file, manifest_text(manifest));
  fsync_path(folder);
}

/// Removes what is older than the newest `keep` of those up to this step, except what BEST names and what a rollback
/// returns to. Those of later steps belong to a run that was resumed from before them: they go when this one has passed
/// them.
void prune(const CheckpointFolder& folder, const RunState& state, std::int64_t keep) {
  const std::optional<std::string> best = folder.read_pointer("BEST");
  if (best && best->empty()) return;  // damaged: any of them may be the best
  std::vector<std::string> names = folder.names();
  std::erase_if(names, [&](const std::string& name) { return *checkpoint_step(name) > state.step; });
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  names.resize(names.size() - std::min(kept, names.size()));
  for (const std::string& name : names)
    if (name != best && checkpoint_step(name) != state.rollback_step) folder.remove(name);
}

}  // namespace

fs::path save_checkpoint(const fs::path& run, const CheckpointToSave& checkpoint, bool best, std::int64_t keep) {
  const CheckpointFolder folder(run);
  folder.prepare();
  const std::string name = checkpoint_name(checkpoint.state.step);
  const fs::path temporary = folder.path() / temporary_name(name);
  fs::path saved;
  try {
    write_files(temporary, checkpoint);
    saved = folder.put(name);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  folder.write_pointer("LATEST", name);
  if (best) folder.write_pointer("BEST", name);
  prune(folder, checkpoint.state, keep);
  return saved;
}

}  // namespace chargpt
