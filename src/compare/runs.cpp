#include "compare/runs.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "config/describe.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/kept_text.h"
#include "run/run_files.h"
#include "run/run_folder.h"

namespace chargpt {
namespace {

void refuse_other_options(const PlannedRun& run) {
  const std::vector<std::string> lines =  // the texts' contents are compared, not their names
      changed_options(read_config(run.folder).config, run.options.config, /*section=*/"", {"data.text"});
  if (!lines.empty())
    throw Error(ExitCode::busy, run.folder.string(), " contains a run with other options (", lines.front(),
                "); choose another --out, or remove that folder");
}

void refuse_other_text(const PlannedRun& run, const Corpus& corpus) {
  const Fingerprint then = load_checkpoint(run.folder, "last").state.data;
  if (then != corpus.fingerprint())
    throw Error(ExitCode::busy, run.folder.string(), " was trained on another text (",
                difference_of(then, corpus.fingerprint()), "); choose another --out");
}

/// Throws Error busy unless the folder is free or contains this run.
void refuse_another_run(const PlannedRun& run, const Corpus& corpus) {
  is_run(run.folder) ? refuse_replaced(run.folder) : refuse_strangers(run.folder, "--out DIR");
  const bool begun = !list_checkpoints(run.folder).empty();
  if (is_there(run.folder / "config.json"))
    refuse_other_options(run);
  else if (begun)
    throw Error(ExitCode::busy, run.folder.string(), " contains checkpoints but no config.json; choose another --out");
  if (begun) refuse_other_text(run, corpus);
}

/// Makes the run's folder and locks it; nullopt if another process holds the lock.
std::optional<Descriptor> lock_of(const fs::path& run) {
  make_folder(run);
  try {
    return lock_run(run);
  } catch (const Error& error) {
    if (error.code() != ExitCode::busy) throw;
    return std::nullopt;
  }
}

/// Writes folder, config and text of the run unless it has started. Returns false if another process works in the
/// folder: it may remove unfinished files.
bool prepare(const PlannedRun& run, const Corpus& corpus) {
  const auto begun = [&run] { return !list_checkpoints(run.folder).empty(); };
  refuse_another_run(run, corpus);
  std::optional<Descriptor> lock;
  if (!begun() && !(lock = lock_of(run.folder))) return false;
  mark_run(run.folder);
  if (begun()) return true;  // another process may have started it
  if (const std::string line = keep_text(run.folder, corpus, Keep::shared); !line.empty())
    throw Error(ExitCode::usage, line, "; write it to a file and pass that file");
  write_file_atomically(run.folder / "config.json", json_text(to_json(run.options)));
  return true;
}

struct Running {
  const PlannedRun* run;
  std::unique_ptr<ChildProcess> process;
};

/// Starts the runs and collects their results.
class Runner {
 public:
  Runner(const std::vector<PlannedRun>& runs, const Corpus& corpus, const RunsHooks& hooks)
      : corpus_(corpus), hooks_(hooks) {
    for (const PlannedRun& run : runs) waiting_.push_back(&run);
  }

  bool run() {
    for (const PlannedRun* run : waiting_) refuse_another_run(*run, corpus_);
    while (!waiting_.empty() || !running_.empty()) {
      if (stopped()) return false;  // the destructors of the children ask them to stop and wait
      if (!begin_next() && !collect_one()) wait();
    }
    return true;
  }

 private:
  bool stopped() const { return hooks_.stop != nullptr && hooks_.stop->load(); }

  /// Takes or starts the first waiting run that is not locked. Returns false if there is none or all jobs are busy.
  bool begin_next() {
    if (std::ssize(running_) >= hooks_.jobs) return false;
    const auto next = std::ranges::find_if_not(waiting_, [](const PlannedRun* run) { return is_locked(run->folder); });
    if (next == waiting_.end()) return false;
    const PlannedRun& run = **next;
    if (!prepare(run, corpus_)) return false;
    waiting_.erase(next);
    if (const Ending ending = ending_of_run(run.folder); ending != Ending::unknown) {
      hooks_.ended(run, ending, /*reused=*/true);
      return true;
    }
    mark_times(run.folder, hooks_.jobs);
    running_.push_back({&run, hooks_.start(run)});
    return true;
  }

  bool collect_one() {
    const auto done = std::ranges::find_if(running_, [](Running& each) { return each.process->ended().has_value(); });
    if (done == running_.end()) return false;
    const PlannedRun& run = *done->run;
    const int code = *done->process->ended();
    running_.erase(done);
    if (const Ending ending = ending_of_run(run.folder); ending != Ending::unknown) {
      hooks_.ended(run, ending, /*reused=*/false);
    } else if (stopped() || is_locked(run.folder) ||
               (code == static_cast<int>(ExitCode::busy) && retried_.insert(&run).second))
      waiting_.push_back(&run);  // another process was first to lock it
    else
      hooks_.failed(run, code);
    return true;
  }

  void wait() {
    if (running_.empty() && !told_) hooks_.waiting(std::ssize(waiting_));
    told_ = running_.empty();
    std::this_thread::sleep_for(std::chrono::milliseconds(running_.empty() ? 200 : 20));
  }

  const Corpus& corpus_;
  const RunsHooks& hooks_;
  std::list<const PlannedRun*> waiting_;
  std::list<Running> running_;
  std::set<const PlannedRun*> retried_;
  bool told_ = false;
};

}  // namespace

std::string run_heading(const PlannedRun& run) {
  return "run " + std::to_string(run.number) + " of " + std::to_string(run.total) + ": " + run.name + ", seed " +
         std::to_string(run.seed());
}

bool run_all(const std::vector<PlannedRun>& runs, const Corpus& corpus, const RunsHooks& hooks) {
  return Runner(runs, corpus, hooks).run();
}

void mark_times(const fs::path& run, std::int64_t jobs) {
  const fs::path folder = folder_of(run);
  std::int64_t now = 1;
  for (const std::string& name : entries_of(folder)) now += folder / name != run && is_locked(folder / name);
  const std::int64_t most = std::max(jobs, now);
  if (most > 1 && run_fact(run, "jobs").is_null()) keep_run_fact(run, "jobs", most);
}

Ending ending_of_run(const fs::path& run) {
  if (ending_in_metrics(run) == Ending::diverged) return Ending::diverged;
  const std::vector<fs::path> checkpoints = list_checkpoints(run);
  if (checkpoints.empty()) return Ending::unknown;
  try {
    const Ending ending = load_checkpoint(checkpoints.back(), "last").state.ended;  // only the last one
    return ending == Ending::stopped ? Ending::unknown : ending;
  } catch (const Error& error) {
    if (error.code() == ExitCode::data) return Ending::unknown;  // damaged: resume uses the one before it
    throw;
  }
}

}  // namespace chargpt
