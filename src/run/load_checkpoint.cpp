// Loading: which checkpoint is meant, and what stands in for a damaged one; see checkpoints.h.
#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/names.h"
#include "base/paths.h"
#include "base/quote.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/strict_json.h"
#include "run/checkpoint_folder.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_name.h"

namespace chargpt {
namespace {

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

/// The best by the newest state, then the last and what stands in for that.
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

}  // namespace

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

}  // namespace chargpt
