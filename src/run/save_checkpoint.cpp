// Saving: written whole beside the others, then given its name; see checkpoints.h.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/manifest.h"
#include "checkpoint/state_json.h"
#include "report/output_file.h"
#include "run/best.h"
#include "run/checkpoint_folder.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// A file that sums what it is given, so that the manifest tells what was meant rather than what the disk gives back.
class SummedFile {
 public:
  explicit SummedFile(const fs::path& path) : file_(path, OutputFile::Start::fresh) {}
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
  if (failure) throw Error(ExitCode::io, "cannot make the folder " + printable_path(folder) + ": " + failure.message());
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

void write(const CheckpointFolder& folder, const CheckpointToSave& checkpoint, const std::string& name) {
  try {
    folder.prepare();
    write_files(folder.path() / temporary_name(name), checkpoint);
    folder.put(name);
  } catch (const Error& failure) {
    folder.discard(temporary_name(name));
    throw Error(failure.code(),
                "no checkpoint of step " + std::to_string(checkpoint.state.step) + ": " + failure.what());
  } catch (...) {
    folder.discard(temporary_name(name));
    throw;
  }
}

/// A loaded checkpoint, to be written again.
CheckpointToSave to_save(const Checkpoint& loaded, const ResolvedConfig& config) {
  return {loaded.state,
          loaded.vocabulary,
          config,
          loaded.model->tensors(),
          loaded.optimizer->tensors(),
          loaded.averaged ? std::span(loaded.averaged->tensors()) : std::span<const TensorView>()};
}

/// Whether the pointer holds just that, as far as can be seen.
bool points_at(const CheckpointFolder& folder, const std::string& pointer, const std::optional<std::string>& name) {
  try {
    return folder.read_pointer(pointer) == name;
  } catch (const Error&) {
    return false;
  }
}

/// Of a checkpoint that is new or was there before.
void point_latest(const CheckpointFolder& folder, const std::string& name, bool is_new) {
  try {
    if (is_new) folder.settle(name);
    if (!points_at(folder, "LATEST", name)) folder.write_pointer("LATEST", name);
  } catch (const Error& failure) {
    throw Error(failure.code(),
                name + " is there, but LATEST does not name it, so the run stays at the one before: " + failure.what());
  }
}

/// Makes BEST repeat what is so. Empty, or why it could not.
std::string point_best(const CheckpointFolder& folder, const std::optional<Best>& best) {
  const std::optional<std::string> name = best ? std::optional(best->name) : std::nullopt;
  try {
    if (!points_at(folder, "BEST", name)) name ? folder.write_pointer("BEST", *name) : folder.remove_pointer("BEST");
    return "";
  } catch (const Error& failure) {
    return (name ? "the file BEST does not name " + *name + ", the best checkpoint ("
                 : std::string("the file BEST is out of date: there is no best checkpoint (")) +
           failure.what() + "); chargpt does not need the file, and repairs it with the next checkpoint";
  }
}

/// Removes what is older than the newest `keep` of those up to this step, except the best and what a rollback returns
/// to. Those of later steps belong to a run that was resumed from before them: they go when this one has passed them.
void prune(const CheckpointFolder& folder, const RunState& state, const std::optional<Best>& best, std::int64_t keep) {
  std::vector<std::string> names = folder.names();
  std::erase_if(names, [&](const std::string& name) { return *checkpoint_step(name) > state.step; });
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  names.resize(names.size() - std::min(kept, names.size()));
  for (const std::string& name : names)
    if ((!best || name != best->name) && checkpoint_step(name) != state.rollback_step) folder.remove(name);
}

/// What follows once LATEST stands; nothing of it can take the checkpoint back. Empty, or what could not be done.
std::string tidy(const CheckpointFolder& folder, const RunState& state, std::optional<std::int64_t> keep) {
  try {
    const std::optional<Best> best = best_of(folder, state);
    std::string problem = point_best(folder, best);
    if (keep) prune(folder, state, best, *keep);
    return problem;
  } catch (const Error& failure) {
    return checkpoint_name(state.step) + " is saved, but older ones are not removed: " + failure.what();
  }
}

}  // namespace

SavedCheckpoint save_checkpoint(const fs::path& run, const CheckpointToSave& checkpoint, std::int64_t keep) {
  const CheckpointFolder folder(run);
  const std::string name = checkpoint_name(checkpoint.state.step);
  write(folder, checkpoint, name);
  point_latest(folder, name, /*is_new=*/true);
  return {folder.path() / name, tidy(folder, checkpoint.state, keep)};
}

std::vector<std::string> copy_checkpoints(const fs::path& from, const Checkpoint& checkpoint,
                                          const ResolvedConfig& config, const fs::path& to) {
  std::vector<std::string> notices;
  std::set<std::string> others;
  if (const auto best = best_of(CheckpointFolder(from), checkpoint.state)) others.insert(best->name);
  if (checkpoint.state.rollback_step != RunState::no_step)
    others.insert(checkpoint_name(checkpoint.state.rollback_step));
  others.erase(checkpoint_name(checkpoint.state.step));
  for (const std::string& name : others) {
    std::optional<Checkpoint> other;
    try {
      other = load_checkpoint(from, name, /*with_optimizer=*/true, notices);
    } catch (const Error& failure) {
      notices.push_back(name + " is not in the new run: " + failure.what());
      continue;
    }
    write(CheckpointFolder(to), to_save(*other, other->config), name);
  }
  save_checkpoint(to, to_save(checkpoint, config), std::numeric_limits<std::int64_t>::max());
  return notices;
}

std::string go_on_from(const fs::path& run, const RunState& state) {
  const CheckpointFolder folder(run);
  point_latest(folder, checkpoint_name(state.step), /*is_new=*/false);
  return tidy(folder, state, std::nullopt);
}

}  // namespace chargpt
