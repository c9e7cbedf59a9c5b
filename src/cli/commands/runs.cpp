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
#include "network/model_types.h"
#include "page/page_data.h"
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

/// Heading, and what else identifies the held-out part: losses of one group are of the same part of the same text.
using Group = std::tuple<std::string, std::uint64_t, double, double, std::int64_t>;

Group group_of(const RunState& state, const DataConfig& data) {
  return {text_of(state, data) + ", " + short_number(100 * data.val_fraction) + " % held out", state.data.crc64,
          data.val_fraction, data.test_fraction, data.max_val_tokens};
}

/// {"run", "config", "best_val_loss", …}, or {"run", "ended", "problem"} for a run that cannot be read.
struct Row {
  Json json;
  Group group = {};

  bool has_problem() const { return json.contains("problem"); }
};

Row row_of_run(const fs::path& path) {
  const Checkpoint checkpoint = load_checkpoint(path, "last");
  const Config& config = checkpoint.config.config;
  const RunState& state = checkpoint.state;
  Json json = {{"run", path.filename().string()}, {"config", config.name},
               {"model_type", config.model.type}, {"begun", time_json(run_fact(path, "began"))},
               {"texts", config.data.text},       {"text_tokens", state.data.tokens}};
  json.update(outcome_json(state, config.data, ending_of(path, state)));
  if (leaks(config.model)) json["leaks"] = true;
  return {json, group_of(state, config.data)};
}

/// nullopt if `path` is not a run.
std::optional<Row> row_of(const fs::path& path) {
  const auto problem = [&path](const char* why) {
    Json json = {{"run", path.filename().string()}, {"ended", "unknown"}, {"problem", why}};
    try {
      json["ended"] = ending_of(path, RunState());
    } catch (const Error&) {  // its metrics cannot be read
    }
    return Row{.json = std::move(json)};
  };
  std::error_code ignored;
  try {
    if (!fs::is_directory(path, ignored) || !is_run(path)) return std::nullopt;
    return row_of_run(path);
  } catch (const Error& error) {
    return problem(error.what());
  } catch (const std::bad_alloc&) {
    return problem("there is not enough memory to read it");
  }
}

std::vector<Row> read_runs(const fs::path& folder) {
  std::error_code failed;
  std::vector<Row> rows;
  if (!fs::is_directory(folder, failed)) {
    const std::string reason = failed ? failed.message() : "not a folder";
    throw Error(ExitCode::missing, folder.string(), ": ", reason, "; to train a first run: chargpt train");
  }
  for (const std::string& name : entries_of(folder))
    if (auto row = row_of(folder / name)) rows.push_back(std::move(*row));
  std::ranges::sort(rows, {}, [](const Row& row) {
    const double loss = row.json.value("best_val_loss", std::numeric_limits<double>::infinity());
    return std::tuple(row.json.contains("leaks"), !row.json.value("exact", true), loss,
                      row.json["run"].get<std::string>());
  });
  return rows;
}

Table table_of_group(const Json& runs) {
  const auto step = [](const Json& run) {
    return run["step"].dump() + (run["max_iters"] > 0 ? "/" + run["max_iters"].dump() : "");
  };
  const auto day = cell("begun", [](const Json& time) { return time.get<std::string>().substr(0, 10); });
  const auto best = [](const Json& run) {
    return shown_figure("best_val_loss", run["best_val_loss"], run["exact"]) +
           (run.contains("leaks") ? " (leaks)" : "");
  };
  Table table = table_of(runs, {{"run", as_is("run")},
                                {"config", as_is("config")},
                                {"type", as_is("model_type")},
                                {"parameters", cell("parameters", format_short)},
                                {"step", step},
                                {"ended", as_is("ended")},
                                {"best val", best},
                                {"at step", as_is("best_step")},
                                {"time", cell("seconds", format_duration)},
                                {"begun", day}});
  table.may_leave_out({"type", "at step", "parameters", "config", "time"});
  return table;
}

Report report_of(const std::vector<Row>& rows) {
  Report report(Json::array());
  std::map<Group, Json> groups;
  Json problems = Json::array();
  for (const Row& row : rows) {
    report.json.push_back(row.json);
    (row.has_problem() ? problems : groups[row.group]).push_back(row.json);
  }
  const char* gap = "";
  for (const auto& [group, runs] : groups) {
    report.say(std::exchange(gap, "\n") + printable(std::get<0>(group), std::string::npos) + "\n");
    report.add(table_of_group(runs));
  }
  if (problems.empty()) return report;
  report.draw(gap);
  report.add(table_of(problems, {{"run", as_is("run")}, {"ended", as_is("ended")}, {"problem", as_is("problem")}}));
  return report;
}

Report run_runs(const Arguments& arguments) {
  const std::string& folder = arguments.folder;
  const std::vector<Row> rows = read_runs(folder);
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
  add_output_arguments(options, arguments.output);
}

}  // namespace chargpt
