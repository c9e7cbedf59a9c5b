#include "cli/training/children.h"

#include <unistd.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "cli/process.h"
#include "cli/runs/run_text.h"
#include "report/files/metrics.h"
#include "report/log.h"
#include "report/progress.h"
#include "run/checkpoints.h"
#include "run/kept_text.h"

namespace chargpt {

namespace {

using Json = nlohmann::ordered_json;

/// "decay ends beyond the run's 812 steps" of one run and of another with 815 is one notice.
std::string without_digits(std::string line) {
  std::erase_if(line, [](unsigned char c) { return std::isdigit(c) != 0; });
  return line;
}

/// A run that has begun keeps its text.
void keep_text_for_child(const PlannedRun& run, const Corpus& corpus) {
  const auto kept =
      list_checkpoints(run.folder).empty() ? std::nullopt : kept_text(run.folder, run.options.config.data);
  if (kept && kept->fingerprint() != corpus.fingerprint())
    throw Error(ExitCode::data, run.folder, " was trained on another text (",
                difference_of(kept->fingerprint(), corpus.fingerprint()), "); choose another --out");
  if (const std::string line = kept ? "" : keep_text(run.folder, corpus, Keep::shared); !line.empty())
    throw Error(ExitCode::usage, line, "; write it into a file and give that");
}

}  // namespace

std::unique_ptr<ChildProcess> start_child(const ChildOrder& order, const PlannedRun& run, const Corpus& corpus) {
  keep_text_for_child(run, corpus);
  // This very program, even if replaced since it started: the link is looked up by the child between its birth and the
  // program's start, when it still leads to the parent's program.
  std::vector<std::string> words{"/proc/self/exe", "compare", "--planned"};
  const auto add = [&words](const std::string& option, const std::string& value) {
    words.push_back(option + "=" + value);
  };
  add("--jobs", std::to_string(order.jobs));
  add("--device", order.device.device);
  add("--threads", std::to_string(order.device.threads));
  add("--engine", order.engine);
  if (!run.replays.empty()) add("--replays", run.replays.string());
  words.emplace_back(order.verbose ? "--verbose" : "--quiet");
  words.insert(words.end(), {"--", run.folder.string()});
  return std::make_unique<ChildProcess>(words);
}

RunsHooks RunsWatcher::hooks() {
  RunsHooks hooks;
  hooks.row = [this](const PlannedRun&, const Json& row) { show_row(row); };
  hooks.said = [this](const PlannedRun&, const std::string& text) { show_said(text); };
  hooks.watched = [this](const std::vector<RunningRun>& running, std::int64_t done) {
    constexpr std::size_t prefix = 10;  // "chargpt: ", and the last column
    const std::size_t columns = terminal_columns(STDERR_FILENO);
    if (running.empty() || !line_.is_due()) return;
    line_.show(progress_line(running, done, columns > prefix ? columns - prefix : 0));
  };
  return hooks;
}

void RunsWatcher::tell(const std::string& line) {
  line_.clear();
  repaints(STDERR_FILENO) ? log_detail(line) : log_note(line);
}

void RunsWatcher::show_row(const Json& row) {
  const std::string kind = row["kind"].get<std::string>();
  if (kind == "notice" && row.contains("line") && row["line"].is_string())
    if (const std::string line = row["line"].get<std::string>(); told_.insert(without_digits(line)).second)
      log_note(line);
  if (kind != "plan" || output_.quiet || output_.verbose || std::exchange(plan_shown_, true)) return;
  PlanEvent plan = plan_of_row(row);
  plan.run.clear();  // one of many folders
  if (configs_ > 1) plan.config += ", one of " + std::to_string(configs_);
  line_.clear();
  write_progress(plan_text(plan, terminal_columns(STDERR_FILENO)));
}

/// A warning, of a damaged checkpoint say, is shown at once; the rest only to who wants all.
void RunsWatcher::show_said(const std::string& text) {
  constexpr std::string_view warning = "chargpt: warning: ";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line_.clear();
    if (line.starts_with(warning))
      log_warning(line.substr(warning.size()));
    else if (output_.verbose)
      write_progress(line + "\n");
  }
}

}  // namespace chargpt
