#include "compare/runs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "config/describe.h"
#include "config/load.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "report/progress.h"
#include "report/terminal.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What an earlier start has left.

/// Options that the run in `run` and `wanted` do not share, but for the names of the text, whose content is compared
/// later.
std::vector<std::string> differences(const fs::path& run, const Config& wanted) {
  const ResolvedConfig kept = config_of_run_folder(run);
  std::vector<std::string> lines = changed_options(kept.config, wanted);
  leave_out(lines, {"data.text"});
  return lines;
}

void refuse_another_run(const fs::path& run, const Config& wanted) {
  is_run(run) ? refuse_replaced(run) : refuse_strangers(run, "--out DIR");
  if (!is_there(run / "config.json")) {
    if (list_checkpoints(run).empty() && !is_there(run / "val_losses.json")) return;
    throw Error(ExitCode::busy, run.string(), " holds results but no config.json; choose another --out");
  }
  const std::vector<std::string> lines = differences(run, wanted);
  if (!lines.empty())
    throw Error(ExitCode::busy, run.string(), " holds a run of other options (", lines.front(),
                "); choose another --out, or remove that folder");
}

void prepare(const PlannedRun& run) {
  std::error_code failed;
  fs::create_directories(run.folder, failed);
  if (failed) throw Error(ExitCode::io, "cannot make the folder ", run.folder.string(), ": ", failed.message());
  refuse_another_run(run.folder, run.options.config);
  mark_run(run.folder);
  if (!list_checkpoints(run.folder).empty()) return;
  write_file_atomically(run.folder / "config.json", json_text(to_json(run.options)));
}

// How a child ended.

std::string how_it_ended(int code) {
  if (code == 128 + SIGKILL)
    return "it was killed (signal 9), as happens when memory runs out; run fewer at once, or lower train.batch_size";
  if (code > 128) return "it was ended by signal " + std::to_string(code - 128) + " (" + strsignal(code - 128) + ")";
  return "it ended with exit code " + std::to_string(code) + " and no message";
}

/// The line of the error that ended the child, without its prefix.
std::string error_line(const ChildProcess& child, int code) {
  constexpr std::string_view prefix = "chargpt: error: ";
  const std::string said = child.kept_output();
  const std::size_t begin = said.rfind(prefix);
  if (begin == std::string::npos || (begin > 0 && said[begin - 1] != '\n')) return how_it_ended(code);
  const std::size_t line = begin + prefix.size();
  return said.substr(line, said.find('\n', line) - line);
}

/// Ended by a signal, or with a code that is none of ours, it has no exit code to pass on.
ExitCode code_to_pass_on(int code) {
  constexpr std::array ours{ExitCode::usage,       ExitCode::data,     ExitCode::missing,
                            ExitCode::unavailable, ExitCode::internal, ExitCode::io,
                            ExitCode::busy,        ExitCode::diverged, ExitCode::memory};
  if (code == 128 + SIGKILL) return ExitCode::memory;
  const auto found = std::find(ours.begin(), ours.end(), static_cast<ExitCode>(code));
  return found == ours.end() ? ExitCode::internal : *found;
}

/// A child and what its metrics have told.
class Child {
 public:
  Child(const PlannedRun& run, const std::function<std::unique_ptr<ChildProcess>(const PlannedRun&)>& start)
      : shown_{.run = &run}, metrics_(run.folder / "metrics.jsonl") {
    std::error_code gone;
    if (list_checkpoints(run.folder).empty() && !is_locked(run.folder))
      fs::remove(run.folder / "metrics.jsonl", gone);  // which begins anew
    MetricsReader earlier(run.folder / "metrics.jsonl");
    earlier.read([] {}, [this](const Json& row) { plans_before_ += row["kind"] == "plan" ? 1 : 0; });
    begun_ = steady_seconds();
    process = start(run);
  }

  const PlannedRun& run() const { return *shown_.run; }
  const RunningRun& shown() const { return shown_; }
  double seconds() const { return steady_seconds() - begun_; }

  /// Each process of a run begins with a plan: rows before this one's plan were read by an earlier process.
  void read_metrics(const std::function<void(const PlannedRun&, const Json&)>& row) {
    metrics_.read([this] { plans_ = 0; },
                  [&](const Json& one) {
                    plans_ += one["kind"] == "plan" ? 1 : 0;
                    if (plans_ <= plans_before_) return;
                    take(one);
                    row(run(), one);
                  });
  }

  /// What it has said since the last call.
  std::string news() {
    const std::string all = process->kept_output();
    const std::size_t end = all.rfind('\n') + 1;  // npos + 1 is 0
    std::string text = end > told_ ? all.substr(told_, end - told_) : "";
    told_ = std::max(told_, end);
    return text;
  }

  std::unique_ptr<ChildProcess> process;

 private:
  void take(const Json& row) {
    const std::string kind = row["kind"].get<std::string>();
    if (const double step = number_in(row, "step"); std::isfinite(step)) shown_.step = static_cast<std::int64_t>(step);
    if (const double most = number_in(row, "max_iters"); most > 0 && row.value("by_clock", Json()) != true)
      shown_.max_iters = static_cast<std::int64_t>(most);
    if (kind == "eval") shown_.val_loss = number_in(row, "val_loss");
    if (kind != "train") return;
    shown_.share = number_in(row, "share");
    remaining_.see(*shown_.share, number_in(row, "seconds"));
    shown_.seconds_left = remaining_.left();
  }

  RunningRun shown_;
  MetricsReader metrics_;
  std::int64_t plans_before_ = 0, plans_ = 0;
  RemainingTime remaining_;
  std::size_t told_ = 0;
  double begun_ = 0;
};

/// All runs under way.
class Runner {
 public:
  Runner(const std::vector<PlannedRun>& runs, const RunsOptions& options, const RunsHooks& hooks)
      : options_(options), hooks_(hooks) {
    for (const PlannedRun& run : runs) waiting_.push_back(&run);
  }

  bool run() {
    for (const PlannedRun* run : waiting_) refuse_another_run(run->folder, run->options.config);
    while (!waiting_.empty() || !running_.empty()) {
      if (stopped()) {
        ask_all_to_stop();
        return false;  // and `running_` waits for them
      }
      const bool begun = begin_next();
      const bool collected = collect_one();
      watch();
      if (!begun && !collected) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  void ask_all_to_stop() {
    for (Child& child : running_) child.process->ask_to_stop();
  }

  /// Takes the next run over, or starts it. False if no run is waiting, or all jobs are busy.
  bool begin_next() {
    if (waiting_.empty() || std::ssize(running_) >= options_.jobs) return false;
    const PlannedRun& run = *waiting_.front();
    waiting_.pop_front();
    prepare(run);
    if (hooks_.take_over(run))
      done(run, /*reused=*/true);
    else
      running_.emplace_back(run, hooks_.start);
    return true;
  }

  /// What is thrown on the way ends the other children too, each when it has saved.
  bool collect_one() {
    const auto ended = std::ranges::find_if(running_, [](Child& child) { return child.process->ended().has_value(); });
    if (ended == running_.end()) return false;
    Child child = std::move(*ended);
    running_.erase(ended);
    try {
      tell(child);
      collect(child);
    } catch (...) {
      ask_all_to_stop();
      throw;
    }
    return true;
  }

  void collect(const Child& child) {
    const PlannedRun& run = child.run();
    const int code = *child.process->ended();
    if (code == 0 && hooks_.take_over(run)) return done(run, /*reused=*/false);
    if (code == 0) throw Error(ExitCode::internal, run.folder.string(), " was trained but has no result");
    if (stopped()) return waiting_.push_back(&run);  // and it too: a terminal's Ctrl-C reaches all
    const Error error(code_to_pass_on(code), error_line(*child.process, code));
    const bool says_nothing_of_others =
        error.code() == ExitCode::diverged || error.code() == ExitCode::memory || error.code() == ExitCode::internal;
    if (!says_nothing_of_others) throw Error(error.code(), run.config, " with seed ", run.seed(), ": ", error.what());
    ++done_;
    hooks_.failed(run, error, child.seconds());
  }

  void done(const PlannedRun& run, bool reused) {
    ++done_;
    hooks_.ended(run, reused);
  }

  void tell(Child& child) const {
    child.read_metrics(hooks_.row);
    if (const std::string news = child.news(); !news.empty()) hooks_.said(child.run(), news);
  }

  void watch() {
    constexpr double interval = 0.1;  // s
    if (steady_seconds() - watched_ < interval) return;
    watched_ = steady_seconds();
    std::vector<RunningRun> shown;
    for (Child& child : running_) {
      tell(child);
      shown.push_back(child.shown());
    }
    hooks_.watched(shown, done_);
  }

  const RunsOptions& options_;
  const RunsHooks& hooks_;
  std::deque<const PlannedRun*> waiting_;
  std::vector<Child> running_;
  std::int64_t done_ = 0;
  double watched_ = 0;
};

std::string percent(const RunningRun& running) {
  return running.share ? format_fixed(std::floor(100 * *running.share), 0) + " %" : "starting";
}

/// "run 3 of 8: a n_head=2, seed 1", and what is left of it in a narrow terminal.
std::vector<std::string> headings_of(const PlannedRun& run) {
  const std::string number = "run " + std::to_string(run.number) + " of " + std::to_string(run.total),
                    seed = ", seed " + std::to_string(run.seed());
  const std::string variant = run.config.substr(run.config.find(' ') + 1);
  return {number + ": " + run.config + seed, number + ": " + variant + seed, number + seed};
}

std::vector<LinePart> parts_of_one(const RunningRun& running) {
  std::vector<LinePart> parts(4);
  for (const std::string& heading : headings_of(*running.run)) parts[0].forms.push_back({heading, 3});
  if (!running.share)
    parts[1].forms.push_back({"starting"});
  else
    parts[1].forms = {{format_step(running.step, running.max_iters) + " (" + percent(running) + ")", 0},
                      {format_step(running.step, running.max_iters, "/")}};
  if (std::isfinite(running.val_loss)) parts[2].forms = {{"val " + format_fixed(running.val_loss, 4), 2}, {}};
  if (running.seconds_left) parts[3].forms = {{format_duration(*running.seconds_left) + " left", 1}, {}};
  return parts;
}

std::vector<LinePart> parts_of_several(const std::vector<RunningRun>& running, std::int64_t done) {
  const std::string total = std::to_string(running.front().run->total);
  std::vector<LinePart> parts(1);
  parts[0].forms = {{std::to_string(done) + " of " + total + " runs done", 3}, {std::to_string(done) + "/" + total}};
  for (const RunningRun& each : running) {
    const PlannedRun& run = *each.run;
    const std::string number = std::to_string(run.number) + ": ", seed = ", seed " + std::to_string(run.seed());
    const std::string variant = run.config.substr(run.config.find(' ') + 1);
    parts.push_back({{{number + run.config + seed + " " + percent(each), 0},
                      {number + variant + seed + " " + percent(each), 1},
                      {number + percent(each), 2},
                      {}}});
  }
  return parts;
}

std::string without_spaces(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return folder_name(std::move(name));
}

}  // namespace

bool run_all(const std::vector<PlannedRun>& runs, const RunsOptions& options, const RunsHooks& hooks) {
  return Runner(runs, options, hooks).run();
}

std::string run_heading(const PlannedRun& run) {
  return headings_of(run).front();
}

std::string progress_line(const std::vector<RunningRun>& running, std::int64_t done, std::size_t columns) {
  if (running.empty()) return "";
  return line_that_fits(running.size() == 1 ? parts_of_one(running.front()) : parts_of_several(running, done),
                        columns == 0 ? std::string::npos : columns);
}

ResolvedConfig config_of_run_folder(const fs::path& run) {
  const fs::path path = run / "config.json";
  const std::string text = read_regular_file(path);
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.contains("extends"))  // which could name any file
    throw Error(ExitCode::busy, path.string(), " was not written by a run; choose another --out");
  return parse_config(text, path.string(), run);
}

std::vector<std::string> distinct_names(const std::vector<ResolvedConfig>& configs) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const ResolvedConfig& resolved : configs) {
    std::string name = resolved.config.name;
    for (int n = 2; !taken.insert(without_spaces(name)).second; ++n)
      name = resolved.config.name + "-" + std::to_string(n);
    names.push_back(name);
  }
  return names;
}

std::string seed_folder_name(const std::string& name, std::int64_t seed) {
  return without_spaces(name) + "-seed" + std::to_string(seed);
}

}  // namespace chargpt
