#include "report/progress.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/names.h"
#include "report/escape.h"
#include "report/format.h"
#include "report/symbols.h"
#include "report/table.h"

namespace chargpt {
namespace {

constexpr const char* green = "32";
constexpr const char* yellow = "33";
constexpr double seconds_before_work_is_shown = 0.5;  ///< most work is done sooner, and would only flicker

std::string step_of(std::int64_t step, std::int64_t max_iters) {
  return "step " + format_count(step) + (max_iters > 0 ? " of " + format_count(max_iters) : "");
}

std::string percentage(std::int64_t step, std::int64_t max_iters) {
  if (max_iters <= 0) return "";
  return " (" + format_fixed(std::floor(100.0 * static_cast<double>(step) / static_cast<double>(max_iters)), 0) + "%)";
}

std::string in_parentheses(const std::string& text) {
  return " (" + text + ")";
}

/// As many of the parts, from the first, as fit into `columns`; the first one in any case, cut if need be.
std::string join_to_fit(const std::vector<std::string>& parts, std::size_t columns) {
  std::string line(first_columns(parts[0], columns));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (display_width(line) + 2 + display_width(parts[i]) > columns) break;
    line += "  " + parts[i];
  }
  return line;
}

std::string text_row(const PlanEvent& plan) {
  return format_count(plan.vocab_size) + " symbols; " + format_count(plan.train_tokens) + " tokens to train on, " +
         format_count(plan.val_tokens) + " to validate";
}

std::string length_row(const PlanEvent& plan) {
  const std::string resumed = plan.start_step > 0 ? ", continuing after step " + format_count(plan.start_step) : "";
  const std::string by = plan.longer_limits.empty()
                             ? ""
                             : "; " + plan.length_set_by + " ends it before " + joined(plan.longer_limits, " and ");
  return format_count(plan.max_iters) + " steps of " + format_count(plan.tokens_per_step) + " tokens, " +
         format_fixed(plan.epochs, 2) + " epochs" + resumed + by;
}

std::string device_row(const PlanEvent& plan) {
  return plan.device + (plan.device == "cpu" ? in_parentheses(plan.cpu_capability) : "") + ", " +
         format_count(plan.threads) + (plan.threads == 1 ? " thread" : " threads") + ", engine " + plan.engine + ", " +
         plan.dtype;
}

}  // namespace

void SmoothedValue::add(double value) {
  if (!std::isfinite(value)) return;
  sum_ = (1 - rate_) * sum_ + rate_ * value;
  weight_ = (1 - rate_) * weight_ + rate_;
}

std::string plan_text(const PlanEvent& plan) {
  Table table;
  table.add({"config", escape_for_terminal(plan.config)});
  if (!plan.run.empty()) table.add({"run", escape_for_terminal(plan.run)});
  table.add({"model", plan.model_type + ", " + format_count(plan.parameters) + " parameters" +
                          (plan.leaks ? in_parentheses(leaks_label) : "")});
  table.add({"text", text_row(plan)});
  table.add({"length", length_row(plan)});
  table.add({"device", device_row(plan)});
  table.add({"memory", "about " + format_bytes(plan.memory_bytes)});
  table.add({"disk", "about " + format_bytes(plan.disk_bytes) + " of checkpoints"});
  if (plan.seconds) table.add({"time", "about " + format_duration(*plan.seconds)});
  return table.text();
}

ProgressPrinter::ProgressPrinter(ProgressOptions options, Sink sink) : options_(options), sink_(std::move(sink)) {
  if (options_.width == 0) options_.width = 80;
}

void ProgressPrinter::on(const PlanEvent& event) {
  leaks_ = event.leaks;
  max_iters_ = event.max_iters;
  if (options_.quiet) return;
  finish();
  sink_(plan_text(event));
}

void ProgressPrinter::on(const StepEvent& event) {
  if (!first_) first_ = event;
  max_iters_ = event.max_iters;
  loss_.add(event.loss);
  tokens_per_second_.add(event.tokens_per_second);
  if (options_.quiet) return;
  const double interval = options_.is_terminal ? options_.repaint_interval : options_.plain_interval;
  const bool last = event.step == event.max_iters;
  const bool overdue = options_.is_terminal && (last || !painted_);
  if (!overdue && last_shown_ && event.seconds - *last_shown_ < interval) return;
  last_shown_ = event.seconds;
  if (options_.is_terminal)
    repaint(step_line(event));
  else
    print_line(step_line(event));
}

void ProgressPrinter::on(const EvalEvent& event) {
  best_ = event.best_val_loss;
  if (options_.quiet) return;
  std::string line = step_of(event.step, max_iters_) + "  val " + format_loss(event.val_loss);
  if (event.leaks) line += in_parentheses(leaks_label);
  if (!event.exact) line += " estimated";
  if (event.averaged_val_loss) line += "  averaged " + format_fixed(*event.averaged_val_loss, 4);
  if (event.train_loss) line += "  train " + format_fixed(*event.train_loss, 4);
  line += event.best ? "  " + colored(green, "new best") : "  best " + format_fixed(event.best_val_loss, 4);
  print_line(line + "  after " + format_duration(event.seconds));
  last_shown_ = event.seconds;
}

void ProgressPrinter::on(const CheckpointEvent& event) {
  if (options_.verbose && !options_.quiet)
    print_line("saved " + escape_for_terminal(event.path.native()) + (event.best ? " (best)" : ""));
}

void ProgressPrinter::on(const SampleEvent& event) {
  if (options_.verbose && !options_.quiet)
    print_line("sample after step " + format_count(event.step) + ":\n" + escape_for_terminal(event.text));
}

void ProgressPrinter::on(const NoticeEvent& event) {
  if (options_.quiet) return;
  print_line("chargpt: " + colored(yellow, escape_for_terminal(event.line)));
}

void ProgressPrinter::on(const WorkEvent& event) {
  if (event.part == 0) work_begun_ = event.seconds;
  const bool has_parts = event.part != WorkEvent::no_parts;
  const double interval = options_.is_terminal ? options_.repaint_interval : options_.plain_interval;
  const bool soon = event.seconds - work_begun_ < seconds_before_work_is_shown ||
                    (last_shown_ && event.seconds - *last_shown_ < interval);
  if (options_.quiet || (has_parts && soon)) return;
  last_shown_ = event.seconds;
  std::string line = step_of(event.step, max_iters_) + "  " + std::string(event.what);
  if (has_parts) line += " " + format_fixed(std::floor(100 * event.part), 0) + " %";
  if (options_.is_terminal)
    repaint(std::string(first_columns(line, options_.width - 1)));
  else
    print_line(line);
}

void ProgressPrinter::finish() {
  if (std::exchange(painted_, false)) sink_("\r\x1b[K");
}

std::string ProgressPrinter::step_line(const StepEvent& event) const {
  std::vector<std::string> parts = {step_of(event.step, event.max_iters) + percentage(event.step, event.max_iters)};
  parts.push_back("loss " + format_fixed(loss_.value(), 4) + (leaks_ ? in_parentheses(leaks_label) : ""));
  if (const auto left = seconds_left(event)) parts.push_back(format_duration(*left) + " left");
  if (std::isfinite(best_)) parts.push_back("best val " + format_fixed(best_, 4));
  parts.push_back(format_short(tokens_per_second_.value()) + " tokens/s");
  return join_to_fit(parts, options_.is_terminal ? options_.width - 1 : std::string::npos);
}

/// By the mean time of a step in this process, evaluations and saving included.
std::optional<double> ProgressPrinter::seconds_left(const StepEvent& event) const {
  const std::int64_t steps = event.step - first_->step;
  if (steps <= 0 || event.max_iters < event.step) return std::nullopt;
  const double seconds_per_step = (event.seconds - first_->seconds) / static_cast<double>(steps);
  return seconds_per_step * static_cast<double>(event.max_iters - event.step);
}

void ProgressPrinter::print_line(std::string_view line) {
  finish();
  sink_(std::string(line) + "\n");
}

void ProgressPrinter::repaint(const std::string& line) {
  sink_("\r" + line + "\x1b[K");
  painted_ = true;
}

std::string ProgressPrinter::colored(const char* code, const std::string& text) const {
  return options_.color ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

}  // namespace chargpt
