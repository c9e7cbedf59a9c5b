#include "run/checkpoints.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "report/format.h"
#include "run/run_files.h"
#include "run/run_folder.h"

namespace chargpt {
namespace {

using Paths = std::vector<fs::path>;

std::int64_t step_of_file(const fs::path& file) {
  return step_of(file.filename().string(), checkpoint_extension).value();
}

std::string name_of(const fs::path& file) {
  return file.stem().string();
}

/// Whether another checkpoint may be undamaged. A newer format, a bug or a lack of memory would affect all.
bool is_damage(const Error& error) {
  if (dynamic_cast<const NewerFormat*>(&error) != nullptr) return false;
  return error.code() == ExitCode::data || error.code() == ExitCode::missing || error.code() == ExitCode::io;
}

/// A checkpoint file and its state, or why there is none: it is damaged, has been removed, or the disk did not answer.
struct Listed {
  fs::path file;
  std::optional<RunState> state;
  std::optional<Error> fault;

  /// Infinite if not evaluated, or if the run has not improved on guessing, or on the weights it began with.
  double loss() const { return state && std::isfinite(best_loss(*state)) ? evaluated_loss(*state) : HUGE_VAL; }
};

/// The checkpoints of a run by ascending step. Errors: io if they cannot be listed.
std::vector<Listed> listed_in(const fs::path& run) {
  std::vector<Listed> listed;
  for (const fs::path& file : list_checkpoints(run)) try {
      listed.push_back({file, read_state(file), {}});
    } catch (const Error& error) {
      listed.push_back({file, {}, error});
    }
  return listed;
}

/// The checkpoint with the least loss(), the first of equals; nullptr if all are infinite. Error io if the disk did not
/// answer for one, which may be the best.
const Listed* best_of(const std::vector<Listed>& listed) {
  for (const Listed& one : listed)
    if (one.fault && one.fault->code() == ExitCode::io) throw *one.fault;
  const auto rank = [](const Listed& one) { return std::pair(one.loss(), step_of_file(one.file)); };
  const auto best = std::ranges::min_element(listed, {}, rank);
  return best == listed.end() || std::isinf(best->loss()) ? nullptr : &*best;
}

/// The last and the best of these checkpoints; unknown if there are none or the disk did not answer.
Standing standing_of(const std::vector<Listed>& listed) try {
  const Listed* const best = best_of(listed);
  return {listed.empty() ? RunProgress::no_step : step_of_file(listed.back().file),
          best == nullptr ? RunProgress::no_step : step_of_file(best->file)};
} catch (const Error&) {
  return {};
}

/// Removes all but the best and the newest `keep`.
void prune(const fs::path& run, std::int64_t keep) {
  const std::vector<Listed> listed = listed_in(run);
  const Listed* const best = best_of(listed);
  const std::size_t newest = std::min(listed.size(), static_cast<std::size_t>(std::max<std::int64_t>(keep, 1)));
  for (const Listed& old : std::span(listed).first(listed.size() - newest)) {
    std::error_code failed;
    if (&old != best && !fs::remove(old.file, failed) && failed)
      throw Error(ExitCode::io, "cannot remove ", old.file, ": ", failed.message());
  }
}

/// The step in `which`; nullopt for "best" and "last". Error usage for anything else.
std::optional<std::int64_t> asked_step(const std::string& which) {
  if (which == "best" || which == "last") return std::nullopt;
  const std::int64_t step = which.starts_with("step-") ? parsed_number<std::int64_t>(which.substr(5)).value_or(-1) : -1;
  if (step < 0)
    throw Error(ExitCode::usage, "checkpoint '", printable(which), "' is not best, last or step-N (as in step-2000)");
  return step;
}

/// Checkpoints in the order to try them, the newest first.
struct Order {
  std::vector<Listed> listed;
  Standing standing{};
  std::string notice{};  ///< about the choice of the first
};

/// Moves the best to the front.
void put_best_first(Order& order, const fs::path& run) {
  const Listed* const best = best_of(order.listed);
  if (best == nullptr) {
    order.notice =
        line_of("no checkpoint of ", run, " has a loss below that of guessing or of its start; using the last");
    return;
  }
  if (const auto& last = order.listed.front().state; last && last->best_val_loss < best->loss())
    order.notice =
        line_of("the best checkpoint of ", run, ", ", checkpoint_name(last->best_step), " with a validation loss of ",
                format_nats(last->best_val_loss, last->exact), ", is missing or damaged; using ", name_of(best->file),
                " with ", format_nats(best->loss(), best->state->exact));
  const auto place = order.listed.begin() + (best - order.listed.data());
  std::rotate(order.listed.begin(), place, place + 1);
}

/// The checkpoints to try for "best" or "last", or the one of a step. Error missing if there are none.
Order order_for(const fs::path& run, const std::string& which) {
  Order order{listed_in(run)};
  order.standing = standing_of(order.listed);
  std::vector<std::string> names;
  for (const Listed& one : order.listed) names.push_back(name_of(one.file));
  if (names.empty())
    throw Error(ExitCode::missing, run, " has no checkpoint yet: none was saved in ", run / "checkpoints");
  std::ranges::reverse(order.listed);
  if (which == "best") put_best_first(order, run);
  if (const std::optional<std::int64_t> step = asked_step(which)) {
    std::erase_if(order.listed, [&](const Listed& one) { return step_of_file(one.file) != *step; });
    if (order.listed.empty())
      throw Error(ExitCode::missing, run, " has no checkpoint ", checkpoint_name(*step), "; there is ",
                  joined(names, ", "));
  }
  return order;
}

/// Restores the paths of texts and teachers from the run's config.json: a checkpoint has only their names.
void add_paths(const fs::path& run, Checkpoint& checkpoint) {
  try {
    const Config config = read_config(run).config;
    checkpoint.config.config.data.text = config.data.text;
    checkpoint.config.config.train.teacher = config.train.teacher;
  } catch (const Error& error) {  // missing or damaged: keep the names
    if (error.code() == ExitCode::io) throw;
  }
}

/// Loads the first undamaged checkpoint in the order.
Checkpoint load_from_run(const fs::path& run, const std::string& which, bool with_optimizer) {
  refuse_newer_run(run);
  Order order = order_for(run, which);
  std::optional<Error> damage;  // the first file's
  for (std::size_t i = 0; i < order.listed.size();) try {
      Checkpoint checkpoint = read_checkpoint(order.listed[i].file, with_optimizer);
      checkpoint.standing = order.standing;
      if (!order.notice.empty()) checkpoint.notices.push_back(order.notice);
      if (damage)
        checkpoint.notices.push_back(damage_notice + name_of(order.listed[0].file) + " cannot be used (" +
                                     damage->what() + "); using " + name_of(order.listed[i].file) + " instead");
      return checkpoint;
    } catch (const Error& error) {
      if (!is_damage(error) || asked_step(which)) throw;
      Order now = order_for(run, which);
      if (i == 0 && now.listed[0].file != order.listed[0].file)  // a training process has saved and pruned
        order = std::move(now);
      else if (i++ == 0)
        damage = error;
    }
  throw Error(damage->code(), damage->what(), "; no other checkpoint of ", run, " is whole");
}

}  // namespace

SavedCheckpoint save_checkpoint(const fs::path& run, const CheckpointToSave& checkpoint, std::int64_t keep) {
  const fs::path folder = run / "checkpoints";
  SavedCheckpoint saved{folder / (checkpoint_name(checkpoint.state.step) + std::string(checkpoint_extension)), ""};
  try {
    if (make_folder(folder)) fsync_path(run);
    write_checkpoint(saved.path, checkpoint);
  } catch (const Error& failure) {
    throw Error(failure.code(), "no checkpoint of step ", checkpoint.state.step, ": ", failure.what());
  }
  try {
    prune(run, keep);
  } catch (const Error& failure) {
    saved.problem = name_of(saved.path) + " is saved, but older ones are not removed: " + failure.what();
  }
  return saved;
}

Checkpoint load_checkpoint(const fs::path& run_or_checkpoint, const std::string& which, bool with_optimizer) {
  const fs::path path = without_final_slash(run_or_checkpoint);
  if (!is_there(path)) throw Error(ExitCode::missing, "no run or checkpoint at ", path);
  asked_step(which);
  Checkpoint checkpoint =
      is_folder(path) ? load_from_run(path, which, with_optimizer) : read_checkpoint(path, with_optimizer);
  if (const fs::path run = run_of(path); !run.empty()) {
    add_paths(run, checkpoint);
    if (!is_folder(path)) checkpoint.standing = standing_of(listed_in(run));
  }
  return checkpoint;
}

Paths list_checkpoints(const fs::path& run) {
  const fs::path folder = run / "checkpoints";
  Paths files;
  // While another process saves and prunes, a listing may miss both the removed file and its successor: retry an empty
  // one.
  for (int attempt = 0; attempt < 3 && files.empty(); ++attempt)
    for (const std::string& name : names_in(run, "checkpoints"))
      if (step_of(name, checkpoint_extension) && type_at(folder / name) == fs::file_type::regular)
        files.push_back(folder / name);
  std::ranges::sort(files, {}, step_of_file);
  return files;
}

nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint) {
  nlohmann::ordered_json figures = run_fact(run_of(checkpoint.path), "figures");
  return value_at(figures, "/checkpoint/step") == checkpoint.state.step ? figures : nullptr;
}

std::string kept_caution(const fs::path& path) {
  const nlohmann::ordered_json caution = run_fact(run_of(path), caution_fact);
  return caution.is_string() ? printable(caution.get<std::string>(), /*max_bytes=*/1000) : "";
}

std::string to_text(std::int64_t step, const Standing& standing) {
  const auto is_known_other = [&](std::int64_t other) { return other != RunProgress::no_step && other != step; };
  const bool is_best = step == standing.best_step, is_last = step == standing.last_step;
  const auto named = [](std::int64_t which) { return format_step(which, /*max_iters=*/0); };
  std::string text = named(step);
  if (is_best) text += is_last ? ", the best and the last" : ", the best";
  if (is_last && !is_best) text += ", the last";
  if (is_known_other(standing.last_step)) text += "; the last is " + named(standing.last_step);
  if (is_known_other(standing.best_step)) text += "; the best is " + named(standing.best_step);
  return text;
}

}  // namespace chargpt
