#include "report/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/names.h"
#include "report/format.h"
#include "report/log.h"
#include "report/table.h"
#include "report/terminal.h"

namespace chargpt {
namespace {

constexpr const char* green = "32";
constexpr const char* yellow = "33";
constexpr double seconds_before_work_is_shown = 0.5;  ///< most work is done sooner, and would only flicker

std::string percentage(double share) {
  return " (" + format_fixed(std::floor(100 * share), 0) + "%)";
}

std::string in_parentheses(const std::string& text) {
  return " (" + text + ")";
}

/// "step   250 of 2,000": `text` with its count made as wide as max_iters, so that lines stand under one another.
std::string aligned(std::string text, std::int64_t step, std::int64_t max_iters) {
  const std::size_t width = format_count(max_iters).size(), used = format_count(step).size();
  return text.insert(std::string_view("step ").size(), width > used ? width - used : 0, ' ');
}

std::string text_row(const PlanEvent& plan) {
  const std::string files =
      plan.text_files > 1 ? "; " + format_count(plan.text_tokens) + " in " + format_count(plan.text_files, "file") : "";
  return format_count(plan.vocab_size, "symbol") + "; " + format_count(plan.train_tokens, "token") + " to train on, " +
         format_count(plan.val_tokens) + " to validate" +
         (plan.test_tokens > 0 ? ", " + format_count(plan.test_tokens) + " for the test" : "") + files;
}

std::string length_row(const PlanEvent& plan) {
  const std::string resumed = plan.start_step > 0 ? ", continuing after step " + format_count(plan.start_step) : "";
  const std::string by = plan.longer_limits.empty()
                             ? ""
                             : "; " + plan.length_set_by + " ends it before " + joined(plan.longer_limits, " and ");
  return (plan.by_clock ? "about " : "") + format_count(plan.max_iters, "step") + " of " +
         format_count(plan.tokens_per_step, "token") + ", " + format_fixed(plan.epochs, 2) + " epochs" + resumed + by;
}

}  // namespace

void SmoothedValue::add(double value) {
  if (!std::isfinite(value)) return;
  sum_ = (1 - rate_) * sum_ + rate_ * value;
  weight_ = (1 - rate_) * weight_ + rate_;
}

void RemainingTime::see(double share, double seconds) {
  last_ = {share, seconds};
  if (!first_) first_ = last_;
}

std::optional<double> RemainingTime::left() const {
  if (!first_ || !(last_.share > first_->share && last_.share <= 1)) return std::nullopt;
  const double left = (last_.seconds - first_->seconds) * (1 - last_.share) / (last_.share - first_->share);
  return left >= 0 ? std::optional(left) : std::nullopt;  // not where it is not a number
}

std::string plan_text(const PlanEvent& plan, std::size_t width) {
  Table table;
  table.add({"config", escape_for_terminal(plan.config)});
  if (!plan.run.empty()) table.add({"run", escape_for_terminal(plan.run)});
  table.add({"model", plan.model_type + (plan.model_shape.empty() ? ", " : ": " + plan.model_shape + "; ") +
                          format_count(plan.parameters) + " parameters" +
                          (plan.leaks ? in_parentheses(leaks_label) : "")});
  table.add({"text", text_row(plan)});
  table.add({"length", length_row(plan)});
  table.add({"device", plan.device + in_parentheses(plan.cpu_capability) + ", " + format_count(plan.threads, "thread") +
                           ", engine " + plan.engine + ", " + plan.dtype});
  if (plan.memory_bytes) table.add({"memory", format_bytes(*plan.memory_bytes) + " at the peak"});
  table.add({"disk", "about " + format_bytes(plan.disk_bytes) + " of checkpoints"});
  if (plan.seconds) table.add({"time", "about " + format_duration(*plan.seconds)});
  return table.text(width);
}

ProgressPrinter::ProgressPrinter(ProgressOptions options, Sink sink)
    : options_(options), sink_(options.quiet && !options.brief ? Sink([](std::string_view) {}) : std::move(sink)) {
  if (options_.width == 0) options_.width = 80;
}

void ProgressPrinter::on(const PlanEvent& event) {
  leaks_ = event.leaks;
  guessing_ = std::log(static_cast<double>(event.vocab_size));
  max_iters_ = event.by_clock ? 0 : event.max_iters;
  finish();
  if (!options_.brief) sink_(plan_text(event, options_.is_terminal ? options_.width : 0));
}

void ProgressPrinter::on(const StepEvent& event) {
  remaining_.see(event.share, event.seconds);
  max_iters_ = event.max_iters;
  loss_.add(event.loss);
  tokens_per_second_.add(event.tokens_per_second);
  const bool last = event.share >= 1;
  const bool overdue = options_.is_terminal && (last || !painted_);
  if (!shows_steps()) return;
  if (!overdue && last_shown_ && event.seconds - *last_shown_ < interval()) return;
  last_shown_ = event.seconds;
  options_.is_terminal ? repaint(step_line(event)) : print_line(step_line(event));
}

void ProgressPrinter::on(const EvalEvent& event) {
  best_ = std::isfinite(event.best_val_loss) ? format_nats(event.best_val_loss, event.exact) : "";
  if (options_.brief) return;
  print_line(eval_line(event));
  last_shown_ = event.seconds;
}

void ProgressPrinter::on(const CheckpointEvent& event) {
  if (options_.verbose) print_line("saved " + escape_for_terminal(event.path.native()) + (event.best ? " (best)" : ""));
}

void ProgressPrinter::on(const SampleEvent& event) {
  if (options_.verbose)
    print_line("sample after step " + format_count(event.step) + ":\n" + escape_for_terminal(event.text));
}

void ProgressPrinter::on(const NoticeEvent& event) {
  if (options_.quiet || (event.detail && !options_.verbose)) return;
  const std::string_view prefix = "chargpt: ";
  const std::string lines =
      fitted(line_for_terminal(event.line), prefix.size(), options_.is_terminal ? options_.width : 0);
  print_line(std::string(prefix) + colored(lines, options_.color ? yellow : ""));
}

void ProgressPrinter::on(const WorkEvent& event) {
  if (event.part == 0) work_begun_ = event.seconds;
  const bool has_parts = event.part != WorkEvent::no_parts;
  const bool soon = event.seconds - work_begun_ < seconds_before_work_is_shown ||
                    (last_shown_ && event.seconds - *last_shown_ < interval());
  if (!shows_steps() || (has_parts && soon)) return;
  last_shown_ = event.seconds;
  std::string line = format_step(event.step, max_iters_) + "  " + std::string(event.what);
  if (has_parts) line += " " + format_fixed(std::floor(100 * event.part), 0) + " %";
  options_.is_terminal ? repaint(std::string(first_columns(line, options_.width - 1))) : print_line(line);
}

void ProgressPrinter::finish() {
  if (std::exchange(painted_, false)) sink_(clear_line);
}

std::string ProgressPrinter::step_line(const StepEvent& event) const {
  const std::string loss = "loss " + format_fixed(loss_.value(), 4);
  const auto left = remaining_.left();
  std::vector<LinePart> parts(5);
  parts[0].forms = {{format_step(event.step, event.max_iters) + percentage(event.share), 1},
                    {format_step(event.step, event.max_iters, "/")}};
  parts[1].forms = {
      {loss + (leaks_ ? in_parentheses(leaks_label) : ""), 2}, {loss + (leaks_ ? " (leaks)" : ""), 10}, {}};
  if (!best_.empty()) parts[2].forms = {{"best val " + best_, 3}, {"best " + best_, 8}, {}};
  parts[3].forms = {{format_short(tokens_per_second_.value()) + " tokens/s", 6}, {}};
  if (left) parts[4].forms = {{format_duration(*left) + " left", 4}, {format_clock(*left) + " left", 9}, {}};
  return line_that_fits(parts, options_.is_terminal ? options_.width - 1 : std::string::npos);
}

/// On a terminal as much as a line of it holds, each figure under that of the line before.
std::string ProgressPrinter::eval_line(const EvalEvent& event) const {
  const std::string shortly = event.leaks ? " (leaks)" : "", bare = "val " + format_nats(event.val_loss, event.exact),
                    whole = "val " + format_loss(event.val_loss, event.exact);
  const std::string best = event.step == 0 ? "guessing: " + format_fixed(guessing_, 4)
                           : best_.empty() ? ""
                                           : "best " + best_;
  std::string new_best = "new best";
  if (options_.is_terminal) new_best.resize(std::max(new_best.size(), best.size()), ' ');
  std::vector<LinePart> parts(6);
  parts[0].forms = {{format_step(event.step, max_iters_), 1}, {format_step(event.step, max_iters_, "/")}};
  if (options_.is_terminal)
    for (LinePart::Form& form : parts[0].forms) form.text = aligned(form.text, event.step, max_iters_);
  parts[1].forms = {
      {whole + (event.leaks ? in_parentheses(leaks_label) : ""), 2}, {whole + shortly, 4}, {bare + shortly}};
  if (event.averaged_val_loss)
    parts[2].forms = {{"averaged " + format_nats(*event.averaged_val_loss, event.exact), 6}, {}};
  if (event.train_loss) parts[3].forms = {{"train " + format_nats(*event.train_loss, /*exact=*/false), 5}, {}};
  parts[4].forms = {{event.best ? new_best : best, 7}, {}};
  parts[5].forms = {{"after " + format_duration(event.seconds), 3}, {}};
  std::vector<std::string> texts = forms_that_fit(parts, options_.is_terminal ? options_.width : std::string::npos);
  if (event.best && !texts[4].empty())
    texts[4].replace(0, std::string_view("new best").size(), colored("new best", options_.color ? green : ""));
  return joined_parts(texts);
}

void ProgressPrinter::print_line(std::string_view line) {
  finish();
  sink_(std::string(line) + "\n");
}

void ProgressPrinter::repaint(const std::string& line) {
  sink_("\r" + line + "\x1b[K");
  painted_ = true;
}

}  // namespace chargpt
