// `chargpt runs [DIR]`: the runs of a folder, by text, best loss first.
#include <spdlog/fmt/chrono.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <new>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/runs/differences.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_name.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  std::string folder = "runs";
};

/// "2026-11-28T15:10:04Z"; null if unknown.
Json time_json(const Json& seconds) {
  const bool is_time = seconds.is_number_integer() && seconds > 0 && seconds < 32'503'680'000;  // the year 3000
  return is_time ? Json(fmt::format("{:%FT%TZ}", fmt::gmtime(seconds.get<std::time_t>()))) : Json();
}

/// {"run", "config", "best_val_loss", …}; {"run", "ended", "problem"} for a run that cannot be read; null if `path` is
/// not a run.
Json row_of(const fs::path& path) {
  Json row = {{"run", path.filename().string()}, {"ended", "unknown"}};
  std::error_code ignored;
  try {
    if (!fs::is_directory(path, ignored) || !is_run(path)) return nullptr;
    row["ended"] = ending_of(path);
    const Checkpoint checkpoint = load_checkpoint(path, "last");
    const Config& config = checkpoint.config.config;
    row.update({{"config", config.name},
                {"model_type", config.model.type},
                {"begun", time_json(run_fact(path, "began"))},
                {"texts", config.data.text},
                {"text_tokens", checkpoint.state.data.tokens}});
    row.update(outcome_json(checkpoint, row["ended"]));
  } catch (const Error& error) {
    row["problem"] = error.what();
  } catch (const std::bad_alloc&) {
    row["problem"] = "there is not enough memory to read it";
  }
  return row;
}

std::vector<Json> read_runs(const fs::path& folder) {
  std::vector<Json> rows;
  if (!is_folder(folder))
    throw Error(ExitCode::missing, folder, " is no folder that can be read; to train a first run: chargpt train");
  for (const std::string& name : entries_of(folder))
    if (Json row = row_of(folder / name); !row.is_null()) rows.push_back(std::move(row));
  std::ranges::sort(rows, {}, [](const Json& row) {
    const double loss = row.value("best_val_loss", std::numeric_limits<double>::infinity());
    return std::tuple(row.value("leaks", false), !row.value("exact", true), loss, row["run"].get<std::string>());
  });
  return rows;
}

Table table_of_group(const Json& runs) {
  const auto step = [](const Json& run) {
    return run["step"].dump() + (run["max_iters"] > 0 ? "/" + run["max_iters"].dump() : "");
  };
  const auto day = cell("begun", [](const Json& time) { return time.get<std::string>().substr(0, 10); });
  Table table = table_of(runs, {{"run", as_is("run")},
                                {"config", as_is("config")},
                                {"type", as_is("model_type")},
                                {"parameters", cell("parameters", format_short)},
                                {"step", step},
                                {"ended", as_is("ended")},
                                {"best val", [](const Json& run) { return outcome_text("best_val_loss", run); }},
                                {"at step", as_is("best_step")},
                                {"time", cell("seconds", format_duration)},
                                {"begun", day}});
  table.may_leave_out({"type", "at step", "parameters", "config", "time"});
  return table;
}

/// Groups the runs by their held-out part.
Report report_of(const std::vector<Json>& rows) {
  Report report(rows);
  std::map<std::vector<Json>, Json> groups;
  Json problems = Json::array();
  for (const Json& row : rows) {
    std::vector<Json> group;
    for (const char* fact : held_out_facts) group.push_back(row.value(fact, Json()));
    (row.contains("problem") ? problems : groups[group]).push_back(row);
  }
  const char* gap = "";
  for (const auto& [group, runs] : groups) {
    report.say(std::exchange(gap, "\n") + printable(runs[0]["text"].get<std::string>(), std::string::npos) + ", " +
               short_number(100 * runs[0]["val_fraction"].get<double>()) + " % held out\n");
    report.add(table_of_group(runs));
  }
  if (problems.empty()) return report;
  report.draw(gap);
  report.add(table_of(problems, {{"run", as_is("run")}, {"ended", as_is("ended")}, {"problem", as_is("problem")}}));
  return report;
}

Report run_runs(const Arguments& arguments) {
  const std::string& folder = arguments.folder;
  const std::vector<Json> rows = read_runs(folder);
  if (rows.empty() && is_run(folder))
    throw Error(ExitCode::usage, printable_path(folder),
                " is a run, not a folder of runs; to describe it: chargpt inspect ", shell_quoted(folder));
  if (rows.empty()) log_note("no runs in ", printable_path(folder));
  return report_of(rows);
}

}  // namespace

void add_runs(Options& options) {
  Arguments& arguments = arguments_for(options, run_runs);
  options.add("DIR", arguments.folder, "folder of runs (default runs)").stands_for(run_meant);
}

}  // namespace chargpt
