// Saving: written whole beside the others, then given its name; see checkpoints.h.
#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "report/files/output_file.h"
#include "report/json_text.h"
#include "run/checkpoint_folder.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

/// Sums what `write` gives, so that the manifest tells what was meant rather than what the disk gives back.
FileSum save(const OpenFolder& folder, const std::string& name, const std::function<void(const ByteSink&)>& write) {
  std::filesystem::path path = folder.path() / name;  // first: errno is that of create()
  OutputFile file(folder.create(name), std::move(path));
  FileSum sum;
  write([&](std::span<const std::byte> bytes) {
    file.write(bytes);
    sum.crc64 = crc64(bytes, sum.crc64);
    sum.bytes += bytes.size();
  });
  file.sync_and_close();
  return sum;
}

FileSum save_tensors(const OpenFolder& folder, const std::string& name, std::span<const TensorView> tensors) {
  return save(folder, name, [&](const ByteSink& sink) { write_safetensors(sink, tensors); });
}

FileSum save_text(const OpenFolder& folder, const std::string& name, const std::string& text) {
  return save(folder, name, [&](const ByteSink& sink) { sink(std::as_bytes(std::span(text))); });
}

void write_files(const OpenFolder& folder, const CheckpointToSave& checkpoint) {
  Manifest manifest;
  manifest[model_file] = save_tensors(folder, model_file, checkpoint.model);
  manifest[optimizer_file] = save_tensors(folder, optimizer_file, checkpoint.optimizer);
  if (!checkpoint.averaged.empty()) manifest[averaged_file] = save_tensors(folder, averaged_file, checkpoint.averaged);
  manifest[state_file] = save_text(folder, state_file, json_text(to_json(checkpoint.state)));
  manifest[vocabulary_file] = save_text(folder, vocabulary_file, json_text(checkpoint.vocabulary.to_json(), -1));
  manifest[config_file] = save_text(folder, config_file, json_text(to_json(checkpoint.config)));
  save_text(folder, manifest_file, manifest_text(manifest));
  folder.sync();
}

CheckpointFolder write(const OpenFolder& run, const CheckpointToSave& checkpoint, const std::string& name) {
  run.check();
  std::optional<CheckpointFolder> folder;
  try {
    folder.emplace(CheckpointFolder::prepared(run));
    write_files(folder->make(name), checkpoint);
    folder->put(name);
    return std::move(*folder);
  } catch (const Error& failure) {
    if (folder) folder->discard(temporary_name(name));
    throw Error(failure.code(), "no checkpoint of step ", checkpoint.state.step, ": ", failure.what());
  } catch (...) {
    if (folder) folder->discard(temporary_name(name));
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
    throw Error(failure.code(), name,
                " is there, but LATEST does not name it, so the run stays at the one before: ", failure.what());
  }
}

/// Makes BEST repeat what is so. Empty, or why it could not.
std::string point_best(const CheckpointFolder& folder, const std::optional<std::string>& name) {
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
void prune(const CheckpointFolder& folder, const RunState& state, const std::optional<std::string>& best,
           std::int64_t keep) {
  std::vector<std::string> names = folder.names();
  std::erase_if(names, [&](const std::string& name) { return *checkpoint_step(name) > state.step; });
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  names.resize(names.size() - std::min(kept, names.size()));
  for (const std::string& name : names)
    if (name != best && checkpoint_step(name) != state.rollback_step) folder.remove(name);
}

/// What follows once LATEST stands; nothing of it can take the checkpoint back. Empty, or what could not be done.
std::string tidy(const CheckpointFolder& folder, const RunState& state, std::optional<std::int64_t> keep) {
  try {
    const std::optional<std::string> best = best_of(folder, state);
    std::string problem = point_best(folder, best);
    if (keep) prune(folder, state, best, *keep);
    return problem;
  } catch (const Error& failure) {
    return checkpoint_name(state.step) + " is saved, but older ones are not removed: " + failure.what();
  }
}

}  // namespace

SavedCheckpoint save_checkpoint(const OpenFolder& run, const CheckpointToSave& checkpoint, std::int64_t keep) {
  const std::string name = checkpoint_name(checkpoint.state.step);
  const CheckpointFolder folder = write(run, checkpoint, name);
  point_latest(folder, name, /*is_new=*/true);
  return {folder.path() / name, tidy(folder, checkpoint.state, keep)};
}

std::vector<std::string> copy_checkpoints(const OpenFolder& from, const Checkpoint& checkpoint,
                                          const ResolvedConfig& config, const OpenFolder& to) {
  std::vector<std::string> notices;
  std::set<std::string> others;
  if (const auto best = best_of(CheckpointFolder(from), checkpoint.state)) others.insert(*best);
  if (checkpoint.state.rollback_step != RunState::no_step)
    others.insert(checkpoint_name(checkpoint.state.rollback_step));
  others.erase(checkpoint_name(checkpoint.state.step));
  for (const std::string& name : others) {
    std::optional<Checkpoint> other;
    try {
      other = load_checkpoint(from.path(), name, /*with_optimizer=*/true, &notices);
    } catch (const Error& failure) {
      notices.push_back(name + " is not in the new run: " + failure.what());
      continue;
    }
    write(to, to_save(*other, other->config), name);
  }
  save_checkpoint(to, to_save(checkpoint, config), std::numeric_limits<std::int64_t>::max());
  return notices;
}

std::string go_on_from(const OpenFolder& run, const RunState& state) {
  const CheckpointFolder folder(run);
  point_latest(folder, checkpoint_name(state.step), /*is_new=*/false);
  return tidy(folder, state, std::nullopt);
}

}  // namespace chargpt
