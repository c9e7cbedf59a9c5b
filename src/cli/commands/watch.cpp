// `chargpt watch RUN`: the curves of a running or ended run, in the terminal.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "page/page_data.h"
#include "report/charts/run_curves.h"
#include "report/charts/terminal_chart.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "report/log.h"
#include "report/status_line.h"
#include "report/terminal.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  std::string run;
  bool once = false;
};

/// The state of a run at the last look().
struct Watched {
  fs::path run;
  MetricsReader reader{run / "metrics.jsonl"};
  bool running = false;
  RunCurves curves{};

  /// Reads new rows. Checks the lock first, so that rows written at the end of the run are read too.
  void look() {
    running = is_locked(run);
    reader.read([&] { curves = RunCurves(); }, [&](const Json& row) { curves.add(row); });
  }
};

/// Returns the run folder. Throws Error missing, as other commands do, if there is no run.
fs::path run_to_watch(const std::string& argument) {
  const fs::path run = run_of(argument);
  if (run.empty()) throw Error(ExitCode::usage, printable(argument), " is one checkpoint; watch reads a run folder");
  if (!is_run(run)) expect_run(run);
  refuse_newer_run(run);
  return run;
}

std::string state_text(const Watched& watched) {
  if (watched.running) return "running";
  if (watched.curves.end.ended != Ending::unknown) return why_ended(watched.curves.end);
  const std::string resume = "; to continue:\n→ chargpt resume " + shell_quoted(watched.run.native());
  return "not running, and no reason for stopping was recorded" +
         (list_checkpoints(watched.run).empty() ? "; it has no checkpoint" : resume);
}

/// At most `canvas.rows` lines of at most `canvas.columns`, the last of them `below`.
std::string picture(const Watched& watched, Canvas canvas, const std::string& below = "") {
  const RunCurves& curves = watched.curves;
  Chart chart{.train = smoothed(curves.train), .val = curves.val};
  for (const Json& level : baseline_data(watched.run)) {
    const double y = level["y"].get<double>();
    chart.levels.emplace_back(level["name"].get<std::string>() + " " + format_fixed(y, 3), y);
  }
  const bool empty = chart.train.empty() && chart.val.empty();
  std::string text = printable_path(watched.run) + ": " + state_text(watched) + "\n";
  text += empty ? "no step is recorded" : fitting_parts(curves.status.parts(!watched.running), canvas.columns);
  text += "\n";
  if (const std::string complaint = watched.reader.complaint(); !complaint.empty()) text += complaint + "\n";
  text = wrapped_lines(text, canvas.columns) + (empty ? "" : "\n");
  canvas.rows -= std::min(canvas.rows, static_cast<std::size_t>(std::ranges::count(text + below, '\n')));
  return text + terminal_chart(chart, canvas) + below;
}

Canvas canvas_of(const Arguments& arguments) {
  const TerminalSize size = terminal_size(STDOUT_FILENO);
  return {.columns = size.columns > 0 ? std::max<std::size_t>(40, size.columns) : 80,
          .rows = size.rows > 0 ? std::min<std::size_t>(size.rows, 50) : 24,
          .color = uses_color(arguments.output.color, STDOUT_FILENO)};
}

/// The terminal's alternate screen, without its cursor, for as long as this lives.
class AlternateScreen {
 public:
  AlternateScreen() { std::fputs("\x1b[?1049h\x1b[?25l", stdout); }
  ~AlternateScreen() {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }

  /// Writes `text` from the upper left, over the previous frame.
  void show(const std::string& text) const {
    std::string frame = "\x1b[H";
    for (const char c : text.substr(0, text.size() - 1))
      frame += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
    std::fputs((frame + "\x1b[K\x1b[J").c_str(), stdout);
    std::fflush(stdout);
  }
};

/// Shows the run until it ends. Throws Stopped if a signal comes first.
void watch_live(Watched& watched, const Arguments& arguments) {
  const std::atomic<bool>& stop = stop_on_signals(/*quiet=*/true);
  const AlternateScreen screen;
  while (true) {
    watched.look();
    if (!watched.running) return;
    screen.show(picture(watched, canvas_of(arguments), "Ctrl-C ends this view; the run continues\n"));
    for (int tenths = 0; tenths < 10 && !stop; ++tenths) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (stop) throw Stopped{stopping_signal()};
    if (std::ferror(stdout) != 0) throw Error(ExitCode::io, "writing to the terminal failed");
  }
}

void run_watch(const Arguments& arguments) {
  Watched watched{.run = run_to_watch(arguments.run)};
  const bool to_terminal = isatty(STDOUT_FILENO) != 0;
  if (repaints(STDOUT_FILENO) && !arguments.once) watch_live(watched, arguments);
  watched.look();
  Canvas canvas = canvas_of(arguments);
  if (to_terminal && canvas.rows > 2) canvas.rows -= 2;  // for the prompt that follows
  write_output(picture(watched, canvas));
}

}  // namespace

void add_watch(Options& options) {
  Arguments& arguments = arguments_for(options, run_watch, nullptr);
  add_run_argument(options, arguments.run, "run folder");
  options.flag("--once", arguments.once, "print the curves once, even if the run is in progress");
}

}  // namespace chargpt
