// `chargpt watch RUN`: the curves of a running or ended run, in the terminal.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "page/page_data.h"
#include "report/charts/run_curves.h"
#include "report/charts/terminal_chart.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "report/log.h"
#include "report/terminal.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Arguments {
  OutputArguments output;
  std::string run;
  bool once = false;
};

/// A run as it stood when it was last looked at.
struct Watched {
  fs::path run;
  MetricsReader reader{run / "metrics.jsonl"};
  bool running = false;
  RunCurves curves{};

  /// Reads what is new. Whether a process works on the run is asked first: what it wrote at its end is then read too.
  void look() {
    running = is_locked(run);
    reader.read([&] { curves = RunCurves(); }, [&](const Json& row) { curves.add(row); });
  }
};

/// Error missing, as every command says it, if there is no run.
fs::path run_of(const std::string& argument) {
  const fs::path run = run_place(argument, "").run;
  if (run.empty()) throw Error(ExitCode::usage, printable(argument), " is one checkpoint; watch reads a run folder");
  if (!is_run(run)) load_checkpoint(argument, "last");
  refuse_newer_run(run);
  return run;
}

/// The end with the limits that brought it, which only the config knows.
EndEvent end_of(const Watched& watched) {
  EndEvent end = watched.curves.end();
  try {
    const TrainConfig train = read_config(watched.run).config.train;
    end.patience = train.patience;
    end.max_seconds = train.max_seconds;
  } catch (const Error& error) {
    log_detail(error.what());
  }
  return end;
}

std::string state_text(const Watched& watched) {
  if (watched.running) return "running";
  if (watched.curves.end().ended != Ending::unknown) return why_ended(end_of(watched));
  const std::string unknown = "not running, and no reason for stopping was recorded";
  // Without a checkpoint resume would refuse it.
  if (list_checkpoints(watched.run).empty()) return unknown + "; it has no checkpoint, so it cannot be resumed";
  return unknown + "; to continue:\n→ chargpt resume " + shell_quoted(watched.run.native());
}

std::string figures_text(const Watched& watched, std::size_t columns) {
  const RunCurves& curves = watched.curves;
  const std::string loss = "loss " + format_fixed(curves.loss(), 4),
                    best = format_nats(curves.best_val_loss(), curves.exact());
  std::vector<LinePart> parts(5);
  parts[0].forms = {{format_step(curves.step(), curves.max_iters()), 2},
                    {format_step(curves.step(), curves.max_iters(), "/")}};
  if (std::isfinite(curves.loss())) parts[1].forms = {{loss + (curves.leaks() ? " (leaks)" : ""), 9}};
  if (std::isfinite(curves.best_val_loss()))
    parts[2].forms = {{"best val " + best + " at step " + format_count(curves.best_step()), 1},
                      {"best val " + best, 3},
                      {"best " + best, 7}};
  if (std::isfinite(curves.tokens_per_second()))
    parts[3].forms = {{format_short(curves.tokens_per_second()) + " tokens/s", 5}};
  const auto left = watched.running ? curves.seconds_left() : std::nullopt;
  if (left)
    parts[4].forms = {{format_duration(*left) + " left", 4}, {format_clock(*left) + " left", 8}};
  else if (!watched.running)
    parts[4].forms = {{"after " + format_duration(curves.seconds()), 4}};
  for (std::size_t i = 1; i < parts.size(); ++i) parts[i].forms.emplace_back();
  return line_that_fits(parts, columns);
}

std::vector<DrawnCurve> drawn_curves(const Watched& watched) {
  DrawnCurve batches{.as = DrawnCurve::As::dots, .color = "2"}, train{.name = "train", .color = "36"};
  DrawnCurve val{.name = "val", .as = DrawnCurve::As::marks, .color = "33"};
  for (const RunCurves::Step& step : watched.curves.steps())
    batches.points.emplace_back(static_cast<double>(step.step), step.loss);
  train.points = smoothed(batches.points);
  for (const RunCurves::Evaluation& evaluation : watched.curves.evaluations())
    val.points.emplace_back(static_cast<double>(evaluation.step), evaluation.val_loss);
  std::vector<DrawnCurve> curves{std::move(batches), std::move(train), std::move(val)};
  for (const Json& level : baseline_data(watched.run)) {
    const double y = level["y"].get<double>();
    curves.push_back({.name = level["name"].get<std::string>() + " " + format_fixed(y, 3),
                      .points = {{0, y}},
                      .as = DrawnCurve::As::level,
                      .color = "2"});
  }
  return curves;
}

/// Lines of at most `canvas.columns`, as many as `canvas.rows` if there is a curve.
std::string picture(const Watched& watched, const Canvas& canvas) {
  std::string text = wrapped_lines(printable_path(watched.run) + ": " + state_text(watched), canvas.columns);
  if (!watched.curves.steps().empty() || !watched.curves.evaluations().empty())
    text += figures_text(watched, canvas.columns) + "\n";
  const std::string complaint = watched.reader.complaint();  // of broken lines
  const std::string below = complaint.empty() ? "" : wrapped(complaint, 0, canvas.columns);
  Canvas drawing = canvas;
  const auto lines = static_cast<std::size_t>(std::ranges::count(text + below, '\n')) + 2;
  drawing.rows = canvas.rows > lines ? canvas.rows - lines : 0;
  const std::string chart = terminal_chart(drawn_curves(watched), drawing);
  if (chart.empty() && watched.running) return text + "no step is recorded yet\n" + below;
  if (chart.empty())
    return text + wrapped(printable_path(watched.run / "metrics.jsonl") + " has no steps", 0, canvas.columns) + below;
  return text + "\nnats per token, by step\n" + chart + below;
}

Canvas canvas_of(const Arguments& arguments) {
  constexpr std::size_t usual_rows = 24, least_columns = 30, most_rows = 50;
  Canvas canvas;
  const TerminalSize size = terminal_size(STDOUT_FILENO);
  if (size.columns > 0) canvas.columns = std::max(least_columns, size.columns);
  canvas.rows = size.rows > 0 ? std::min(size.rows, most_rows) : usual_rows;
  canvas.color = uses_color(arguments.output.color, STDOUT_FILENO);
  return canvas;
}

/// The terminal's other screen, without its cursor, for as long as this lives.
class OtherScreen {
 public:
  OtherScreen() { std::fputs("\x1b[?1049h\x1b[?25l", stdout); }
  ~OtherScreen() {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }
  OtherScreen(const OtherScreen&) = delete;
  OtherScreen& operator=(const OtherScreen&) = delete;

  /// From the upper left, each line in place of what was there.
  void show(const std::string& text) const {
    std::string frame = "\x1b[H";
    for (const char c : text.substr(0, text.size() - 1))
      frame += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
    std::fputs((frame + "\x1b[K\x1b[J").c_str(), stdout);
    std::fflush(stdout);
  }
};

/// Until the run ends. Throws Stopped if a signal comes first.
void watch_live(Watched& watched, const Arguments& arguments) {
  const std::atomic<bool>& stop = stop_on_signals(/*quiet=*/true);
  const OtherScreen screen;
  while (true) {
    watched.look();
    if (!watched.running) return;
    screen.show(picture(watched, canvas_of(arguments)));
    for (int tenths = 0; tenths < 10 && !stop; ++tenths) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (stop) throw Stopped{stopping_signal()};
    if (std::ferror(stdout) != 0) throw Error(ExitCode::io, "writing to the terminal failed");
  }
}

void run_watch(const Arguments& arguments) {
  Watched watched{.run = run_of(arguments.run)};
  const bool to_terminal = isatty(STDOUT_FILENO) != 0;
  if (repaints(STDOUT_FILENO) && !arguments.once) watch_live(watched, arguments);
  watched.look();
  Canvas canvas = canvas_of(arguments);
  if (to_terminal && canvas.rows > 2) canvas.rows -= 2;  // of the prompt that follows
  std::fputs(picture(watched, canvas).c_str(), stdout);
}

}  // namespace

void add_watch(Options& options) {
  Arguments& arguments = arguments_for(options, run_watch);
  add_run_argument(options, arguments.run, "run folder");
  options.flag("--once", arguments.once, "print the curves once, even while the run goes on");
  add_output_arguments(options, arguments.output, nullptr);
}

}  // namespace chargpt
