#include "run/checkpoints.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/open_folder.h"
#include "base/quote.h"
#include "config/describe.h"
#include "report/files/output_file.h"
#include "report/format.h"
#include "run/checkpoint.h"
#include "run/checkpoint_folder.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "run/strict_json.h"

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

/// Removes what is older than the newest `keep` of those up to this step, except the best. Those of later steps
/// belong to a run that was resumed from before them: they go when this one has passed them.
void prune(const CheckpointFolder& folder, const RunState& state, const std::optional<std::string>& best,
           std::int64_t keep) {
  std::vector<std::string> names = folder.names();
  std::erase_if(names, [&](const std::string& name) { return *checkpoint_step(name) > state.step; });
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  names.resize(names.size() - std::min(kept, names.size()));
  for (const std::string& name : names)
    if (name != best) folder.remove(name);
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

namespace fs = std::filesystem;

/// Damage that another checkpoint may not share; a newer format, a bug or lack of memory is none.
bool is_damage(const Error& error) {
  if (dynamic_cast<const NewerFormat*>(&error) != nullptr) return false;
  return error.code() == ExitCode::data || error.code() == ExitCode::missing || error.code() == ExitCode::io;
}

/// Error io where that cannot be told: what cannot be looked at may well be there.
fs::file_type type_of(const fs::path& path) {
  std::error_code failure;
  const fs::file_type type = fs::status(path, failure).type();
  if (type == fs::file_type::none) fail_on("read", path, failure.value());
  return type;
}

/// The step that `which` names; none for "best" and "last". Error usage for anything else.
std::optional<std::int64_t> asked_step(const std::string& which) {
  if (which == "best" || which == "last") return std::nullopt;
  const std::int64_t step = which.starts_with("step-") ? whole_number(which.substr(5)).value_or(-1) : -1;
  if (step < 0)
    throw Error(ExitCode::usage, "checkpoint '", printable(which), "' is not best, last or step-N (as in step-2000)");
  return step;
}

/// Names of checkpoints in the order they are tried, and what to say of it.
struct Order {
  std::vector<std::string> names, notices{};
};

void put_first(const std::string& name, std::vector<std::string>& names) {
  std::erase(names, name);
  names.insert(names.begin(), name);
}

/// LATEST's checkpoint, or the newest where that is not there or not usable; then those that stand in for a damaged
/// one: earlier ones, newest first, then later ones, newest first.
Order order_for_last(const CheckpointFolder& folder, std::vector<std::string> names) {
  Order order{std::move(names)};
  const std::optional<std::string> latest = folder.read_pointer("LATEST");
  const bool usable = latest && folder.find(*latest);
  const std::string last = usable ? *latest : order.names.back();
  if (latest && !usable)
    order.notices.push_back("LATEST of " + printable_path(folder.path()) +
                            " names no checkpoint that is there; using " + last + ", the newest");
  std::ranges::reverse(order.names);
  std::stable_partition(order.names.begin(), order.names.end(),
                        [&](const std::string& name) { return *checkpoint_step(name) < *checkpoint_step(last); });
  put_first(last, order.names);
  return order;
}

/// The best checkpoint by the newest state first, then the order for the last one.
Order order_for_best(const CheckpointFolder& folder, std::vector<std::string> names) {
  Order order = order_for_last(folder, std::move(names));
  const RunState state = newest_state(folder, order.names).value_or(RunState{});
  if (const auto best = best_of(folder, state)) {
    put_first(*best, order.names);
    order.notices.clear();  // of the last
  } else {
    order.notices.insert(order.notices.begin(), why_no_best(folder, state) + "; using the last");
  }
  return order;
}

/// The one that `which` means first. Error missing where there is none.
Order order_for(const CheckpointFolder& folder, const std::string& which) {
  const fs::path run = folder.path().parent_path();
  const std::optional<std::int64_t> step = asked_step(which);
  const std::vector<std::string> names = folder.names();
  if (names.empty()) throw Error(ExitCode::missing, run, " has no checkpoint yet: none was saved in ", folder.path());
  if (!step) return which == "best" ? order_for_best(folder, names) : order_for_last(folder, names);
  const std::string name = checkpoint_name(*step);
  if (!folder.find(name))
    throw Error(ExitCode::missing, run, " has no checkpoint ", name, "; there is ", joined(names, ", "));
  return {.names = {name}};
}

Checkpoint read_by_name(const CheckpointFolder& folder, const std::string& name, bool with_optimizer) {
  const auto found = folder.find(name);
  if (!found) throw Error(ExitCode::missing, printable_path(folder.path() / name), " does not exist");
  return read_checkpoint(*found, with_optimizer);
}

/// The first of those after the damaged one that is whole.
Checkpoint load_stand_in(const CheckpointFolder& folder, std::span<const std::string> order, const Error& damage,
                         bool with_optimizer, std::vector<std::string>& notices) {
  for (const std::string& name : order.subspan(1)) {
    try {
      Checkpoint checkpoint = read_by_name(folder, name, with_optimizer);
      notices.push_back(damage_notice + order[0] + " cannot be used (" + damage.what() + "); using " + name +
                        " instead");
      return checkpoint;
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
    }
  }
  throw Error(damage.code(), damage.what(), "; no other checkpoint of ", printable_path(folder.path().parent_path()),
              " is whole");
}

Checkpoint load_from_run(const OpenFolder& run, const std::string& which, bool with_optimizer,
                         std::vector<std::string>& notices) {
  refuse_newer_run(run);
  const CheckpointFolder folder(run);
  constexpr int most_attempts = 5;
  for (int attempt = 1;; ++attempt) {
    const auto [names, said] = order_for(folder, which);
    try {
      Checkpoint checkpoint = read_by_name(folder, names[0], with_optimizer);
      notices.insert(notices.end(), said.begin(), said.end());
      return checkpoint;
    } catch (const Error& error) {
      if (!is_damage(error) || asked_step(which)) throw;
      // A training process saved and pruned meanwhile?
      const bool moved_on = order_for(folder, which).names[0] != names[0];
      if (moved_on && attempt < most_attempts) continue;
      notices.insert(notices.end(), said.begin(), said.end());
      return load_stand_in(folder, names, error, with_optimizer, notices);
    }
  }
}

bool is_checkpoint_folder(const fs::path& path) {
  if (is_there(path / manifest_file)) return true;
  return checkpoint_step(path.filename().string()).has_value() && !is_folder(path / "checkpoints");
}

/// A loss that is not a number was measured too.
bool was_evaluated(const RunState& state) {
  return !std::isinf(state.val_loss) || !std::isinf(state.averaged_val_loss);
}

std::string named(std::int64_t step) {
  return "step " + format_count(step);
}

}  // namespace

SavedCheckpoint save_checkpoint(const OpenFolder& run, const CheckpointToSave& checkpoint, std::int64_t keep) {
  const std::string name = checkpoint_name(checkpoint.state.step);
  const CheckpointFolder folder = write(run, checkpoint, name);
  point_latest(folder, name, /*is_new=*/true);
  return {folder.path() / name, tidy(folder, checkpoint.state, keep)};
}

std::string go_on_from(const OpenFolder& run, const RunState& state) {
  const CheckpointFolder folder(run);
  point_latest(folder, checkpoint_name(state.step), /*is_new=*/false);
  return tidy(folder, state, std::nullopt);
}

Checkpoint load_checkpoint(const fs::path& run_or_checkpoint, const std::string& which, bool with_optimizer,
                           std::vector<std::string>* notices) {
  const fs::path path = without_final_slash(run_or_checkpoint);
  std::vector<std::string> ignored;
  asked_step(which);
  const fs::file_type type = type_of(path);
  if (type == fs::file_type::not_found)
    throw Error(ExitCode::missing, "no run or checkpoint at ", printable_path(path), runs_near(path));
  if (type != fs::file_type::directory)
    throw Error(ExitCode::data, printable_path(path), " is a file, not a run or checkpoint folder");
  if (is_checkpoint_folder(path)) return read_checkpoint(path, with_optimizer);
  if (type_of(path / "checkpoints") == fs::file_type::directory)
    return load_from_run(path, which, with_optimizer, notices != nullptr ? *notices : ignored);
  throw Error(ExitCode::missing, printable_path(path),
              " is neither a run (it has no folder checkpoints) nor a checkpoint (it has no ", manifest_file, ")",
              runs_near(path));
}

std::int64_t last_step(const fs::path& run) {
  return *checkpoint_step(order_for(CheckpointFolder(run), "last").names[0]);
}

std::vector<fs::path> list_checkpoints(const fs::path& run) {
  const auto opened = open_if_there(run);
  std::vector<fs::path> paths;
  if (!opened) return paths;
  const CheckpointFolder folder(*opened);
  for (const std::string& name : folder.names())
    if (const auto found = folder.find(name)) paths.push_back(found->path());
  return paths;
}

nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint) {
  using Json = nlohmann::ordered_json;
  constexpr std::uint64_t longest = 1 << 20;
  try {
    const Json figures = foreign_json(OpenFolder(run_place(checkpoint.path, "best").run).read("figures.json", longest));
    const Json about = figures.is_object() ? figures.value("checkpoint", Json()) : Json();
    if (about.is_object() && about.value("step", Json()) == checkpoint.state.step) return figures;
  } catch (const Error&) {
  }
  return nullptr;
}

Standing standing_of(const Checkpoint& checkpoint) {
  Standing standing{.step = checkpoint.state.step};
  const std::filesystem::path run = run_place(checkpoint.path, "").run;
  if (run == checkpoint.path) return standing;
  try {
    const CheckpointFolder folder(run);
    const std::string name = checkpoint_name(last_step(run));
    const RunState last = read_checked_state(folder.path() / name);
    standing.last_step = last.step;
    standing.last_evaluated = was_evaluated(last);
    if (const auto best = best_of(folder, last)) standing.best_step = *checkpoint_step(*best);
  } catch (const Error&) {  // damaged, or replaced by a training meanwhile
  }
  return standing;
}

std::string to_text(const Standing& standing) {
  const std::string unscored = standing.last_evaluated ? "" : " (not evaluated)";
  const bool knows_last = standing.last_step != RunProgress::no_step;
  std::string text = named(standing.step);
  if (standing.is_best()) text += standing.is_last() ? ", the best and the last" : ", the best";
  if (standing.is_last() && !standing.is_best()) text += ", the last" + unscored;
  if (knows_last && !standing.is_last()) text += "; the last is " + named(standing.last_step) + unscored;
  if (standing.best_step != RunProgress::no_step && !standing.is_best())
    text += "; the best is " + named(standing.best_step);
  return text;
}

}  // namespace chargpt
