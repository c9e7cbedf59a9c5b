// `chargpt runs [DIR]`: the runs of a folder, best loss first.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/print_text.h"
#include "cli/process.h"
#include "report/format.h"
#include "report/metrics.h"
#include "report/table.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_lock.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

struct Arguments {
  OutputArguments output;
  std::string folder = "runs";
};

struct Row {
  std::string name;
  std::string problem;  ///< why nothing else is known; empty if the rest is
  RunState state;
  Config config;
  std::string ended;
};

/// The last word is that of metrics.jsonl: a signal, or weights that are not finite, may have ended the run after its
/// last save.
std::string ending_of(const fs::path& run, const RunState& state) {
  if (is_locked(run)) return "running";
  const Ending last = ending_in_metrics(run);
  return std::string(enum_name(last == Ending::unknown ? state.ended : last));
}

Row read_run(const fs::path& run) {
  Row row;
  row.name = run.filename().string();
  try {
    std::vector<std::string> notices;
    const Checkpoint checkpoint = load_checkpoint(run, "last", /*with_optimizer=*/false, notices);
    row.state = checkpoint.state;
    row.config = checkpoint.config.config;
    row.ended = ending_of(run, row.state);
  } catch (const Error& error) {
    row.problem = error.what();
  }
  return row;
}

std::vector<Row> read_runs(const fs::path& folder) {
  std::error_code failed;
  std::vector<Row> rows;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed))
    if (entry.is_directory() && is_run(entry.path())) rows.push_back(read_run(entry.path()));
  if (failed)
    throw Error(ExitCode::missing, folder.string() + ": " + failed.message() + "; chargpt train makes the first run");
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.state.best_val_loss, a.name) < std::tie(b.state.best_val_loss, b.name);
  });
  return rows;
}

nlohmann::ordered_json to_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json object = {{"run", row.name}};
    if (!row.problem.empty()) {
      object["problem"] = row.problem;
    } else {
      object.update({{"config", row.config.name},
                     {"type", row.config.model.type},
                     {"parameters", row.state.parameters},
                     {"step", row.state.step},
                     {"max_iters", row.state.max_iters},
                     {"ended", row.ended},
                     {"best_val_loss", row.state.best_val_loss},
                     {"best_step", row.state.best_step},
                     {"seconds", row.state.seconds}});
    }
    json.push_back(object);
  }
  return json;
}

void print_table(const std::vector<Row>& rows) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  const auto shown = [&](std::vector<std::string> cells) {
    if (columns > 0 && columns < 100) cells.erase(cells.begin() + 2);  // the type, which the config tells
    return cells;
  };
  Table table(shown({"run", "config", "type", "parameters", "step", "ended", "best val loss", "at step", "time"}));
  for (const Row& row : rows) {
    if (!row.problem.empty()) {
      table.add(shown({row.name, row.problem, "", "", "", "", "", "", ""}));
      continue;
    }
    table.add(shown({row.name, row.config.name, row.config.model.type, std::to_string(row.state.parameters),
                     std::to_string(row.state.step) + "/" + std::to_string(row.state.max_iters), row.ended,
                     format_fixed(row.state.best_val_loss, 4), std::to_string(row.state.best_step),
                     format_duration(row.state.seconds)}));
  }
  print_table(table);
}

void run_runs(const Arguments& arguments) {
  const std::vector<Row> rows = read_runs(arguments.folder);
  arguments.output.json ? print_json(to_json(rows)) : print_table(rows);
}

}  // namespace

void add_runs(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  options.add("DIR", arguments->folder, "folder of runs");
  add_output_arguments(options, arguments->output);
  on_parsed(options, arguments, run_runs);
}

}  // namespace chargpt
