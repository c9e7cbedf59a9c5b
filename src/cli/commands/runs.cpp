// `chargpt runs [DIR]`: the runs of a folder, by text, best loss first.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/runs/differences.h"
#include "network/model_types.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_name.h"
#include "text/documents.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

struct Arguments {
  OutputArguments output;
  std::vector<std::string> folders;
};

struct Row {
  std::string name;
  std::string problem;  ///< why the run cannot be read; empty if it can
  RunState state{};
  Config config{};
  bool leaks = false;  ///< its loss is meaningless
  std::string ended{};
  std::time_t begun = 0;  ///< 0: unknown
};

/// Start time, from the name of the oldest TensorBoard file, events.out.tfevents.SECONDS.HOST, which copies keep; else
/// the time of the last checkpoint.
std::time_t beginning_of(const fs::path& run, const fs::path& checkpoint) {
  constexpr std::string_view prefix = "events.out.tfevents.";
  std::time_t begun = 0;
  for (const std::string& name : entries_of(run)) {
    if (!name.starts_with(prefix)) continue;
    const std::time_t seconds = std::strtoll(name.c_str() + prefix.size(), nullptr, 10);
    if (seconds > 0 && (begun == 0 || seconds < begun)) begun = seconds;
  }
  struct stat status {};
  if (begun == 0 && stat(checkpoint.c_str(), &status) == 0) begun = status.st_mtime;
  return begun;
}

/// nullopt if `path` is not a run. A run that cannot be read gets a `problem`.
std::optional<Row> row_of(const fs::path& path) {
  std::error_code failed;
  const fs::file_type type = fs::status(path, failed).type();
  const bool leads_nowhere = (type == fs::file_type::none || type == fs::file_type::not_found) &&
                             fs::is_symlink(fs::symlink_status(path, failed));
  if (leads_nowhere) return Row{.name = path.filename().string(), .problem = "a broken symbolic link"};
  Row row{.name = path.filename().string(), .problem = ""};
  try {
    if (type != fs::file_type::directory || !is_run(path)) return std::nullopt;
    const Checkpoint checkpoint = load_checkpoint(path, "last");
    row.state = checkpoint.state;
    if (std::isnan(row.state.best_val_loss)) row.state.best_val_loss = std::numeric_limits<double>::infinity();
    row.config = checkpoint.config.config;
    row.leaks = leaks(row.config.model);
    row.ended = ending_of(path, row.state);
    row.begun = beginning_of(path, checkpoint.path);
  } catch (const Error& error) {
    row.problem = error.what();
  } catch (const std::bad_alloc&) {
    row.problem = "there is not enough memory to read it";
  }
  return row;
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
    return std::tuple(row.leaks, !row.state.exact, row.state.best_val_loss, row.name);
  });
  return rows;
}

std::string time_text(std::time_t time, const char* form, bool local) {
  struct tm parts {};
  std::array<char, 32> text{};
  if (time == 0 || (local ? localtime_r(&time, &parts) : gmtime_r(&time, &parts)) == nullptr) return "";
  return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
}

/// Heading, and what else identifies the held-out part: losses of one group are of the same part of the same text.
using Group = std::tuple<std::string, std::uint64_t, double, double, std::int64_t>;

Group group_of(const Row& row) {
  const DataConfig& data = row.config.data;
  const auto percent = [](double fraction) { return short_number(100 * fraction) + " %"; };
  const std::string held_out = has_documents(data) ? percent(data.val_fraction) + " of its documents held out"
                                                   : "the last " + percent(data.val_fraction) + " held out",
                    test = data.test_fraction > 0 ? ", and " + percent(data.test_fraction) + " for the test" : "",
                    scored = data.max_val_tokens < DataConfig{}.max_val_tokens
                                 ? ", of which at most " + format_count(data.max_val_tokens) + " are scored"
                                 : "";
  return {text_of(row.state, data) + ", " + held_out + test + scored, row.state.data.crc64, data.val_fraction,
          data.test_fraction, data.max_val_tokens};
}

Json to_json(const Row& row) {
  Json object = {{"run", row.name}};
  if (!row.problem.empty()) {
    object["problem"] = row.problem;
    return object;
  }
  object.update({{"config", row.config.name},
                 {"model_type", row.config.model.type},
                 {"begun", nullptr},
                 {"texts", row.config.data.text},
                 {"text_tokens", row.state.data.tokens}});
  object.update(outcome_json(row.state, row.config.data, row.ended));
  if (row.begun != 0) object["begun"] = time_text(row.begun, "%Y-%m-%dT%H:%M:%SZ", /*local=*/false);
  if (row.leaks) object["leaks"] = true;
  return object;
}

Table table_of_group(const std::vector<const Row*>& rows) {
  Table table({"run", "config", "type", "parameters", "step", "ended", "best val", "at step", "time", "begun"});
  table.may_leave_out({"type", "at step", "parameters", "config", "time"});
  for (const Row* row : rows) {
    const RunState& state = row->state;
    table.add({row->name, row->config.name, row->config.model.type, format_short(static_cast<double>(state.parameters)),
               line_of(state.step, state.max_iters > 0 ? line_of("/", state.max_iters) : ""), row->ended,
               shown_figure("best_val_loss", state.best_val_loss, state.exact) + (row->leaks ? " (leaks)" : ""),
               shown_figure("best_step", best_step_of(state), state.exact), format_duration(state.seconds),
               time_text(row->begun, "%Y-%m-%d", /*local=*/true)});
  }
  return table;
}

Report report_of(const std::vector<Row>& rows) {
  Report report(Json::array());
  std::map<Group, std::vector<const Row*>> groups;
  Json problems = Json::array();
  for (const Row& row : rows) {
    report.json.push_back(to_json(row));
    row.problem.empty() ? groups[group_of(row)].push_back(&row) : problems.push_back(report.json.back());
  }
  const char* gap = "";
  for (const auto& [group, members] : groups) {
    report.say(std::exchange(gap, "\n") + printable(std::get<0>(group), std::string::npos) + "\n");
    report.add(table_of_group(members));
  }
  if (problems.empty()) return report;
  report.draw(gap);
  report.add(table_of(problems, {{"run", as_is("run")}, {"problem", as_is("problem")}}));
  return report;
}

Report run_runs(const Arguments& arguments) {
  if (arguments.folders.size() > 1)
    throw Error(ExitCode::usage, "runs lists the runs of one folder; to compare two: chargpt inspect ",
                shell_quoted(arguments.folders[0]), " ", shell_quoted(arguments.folders[1]));
  const std::string folder = arguments.folders.empty() ? "runs" : arguments.folders[0];
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
  options.add("DIR", arguments.folders, "folder of runs (default runs)").stands_for(run_meant);
  add_output_arguments(options, arguments.output);
}

}  // namespace chargpt
