#include "report/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "report/format.h"
#include "report/log.h"
#include "report/table.h"
#include "report/terminal.h"

namespace chargpt {
namespace {

constexpr const char* green = "32";
constexpr const char* yellow = "33";
constexpr double seconds_before_work_is_shown = 0.5;  ///< shorter work would only flicker

std::string in_parentheses(const std::string& text) {
  return " (" + text + ")";
}

/// "step   250 of 2,000": pads the count in `text` to the width of max_iters, so that lines align.
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
  const std::string by = plan.length_set_by == "train.max_iters" ? "" : "; " + plan.length_set_by + " ends it";
  return (plan.by_clock ? "about " : "") + format_count(plan.max_iters, "step") + " of " +
         format_count(plan.tokens_per_step, "token") + ", " + format_fixed(plan.epochs, 2) + " epochs" + resumed + by;
}

}  // namespace

void SmoothedValue::add(double value) {
  if (!std::isfinite(value)) return;
  sum_ = (1 - rate_) * sum_ + rate_ * value;
  weight_ = (1 - rate_) * weight_ + rate_;
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

void RunStatus::begin(std::int64_t at, std::int64_t of, bool sees_targets) {
  step = at;
  max_iters = of;
  leaks = sees_targets;
  first_share = first_seconds = missing;
}

void RunStatus::on(const StepEvent& event) {
  step = event.step;
  max_iters = event.max_iters;
  share = event.share;
  seconds = event.seconds;
  loss.add(event.loss);
  tokens_per_second.add(event.tokens_per_second);
  if (std::isnan(first_share)) first_share = share, first_seconds = seconds;
}

void RunStatus::on(const EvalEvent& event) {
  step = event.step;
  best = std::isfinite(event.best_val_loss) ? format_nats(event.best_val_loss, event.exact) : "";
}

std::vector<std::string> RunStatus::parts(bool ended) const {
  const double left = seconds_left(), value = loss.value(), speed = tokens_per_second.value();
  const auto known = [](double number, const std::string& text) { return std::isfinite(number) ? text : ""; };
  return {format_step(step, max_iters) + (max_iters > 0 || ended ? "" : in_parentheses(format_percent(share, 0))),
          known(value, "loss " + format_fixed(value, 4) + (leaks ? " (leaks)" : "")),
          ended ? "after " + format_duration(seconds) : known(left, format_duration(left) + " left"),
          best.empty() ? "" : "best val " + best, known(speed, format_short(speed) + " tokens/s")};
}

void ProgressPrinter::on(const PlanEvent& event) {
  status_.begin(event.start_step, event.by_clock ? 0 : event.max_iters, event.leaks);
  guessing_ = std::log(static_cast<double>(event.vocab_size));
  if (!options_.brief) print(plan_text(event, options_.columns));
}

void ProgressPrinter::on(const StepEvent& event) {
  status_.on(event);
  if (shows_status() && line_.is_due(event.seconds)) line_.show(status_.parts(), event.seconds);
}

/// Aligns each figure with that of the line above.
void ProgressPrinter::on(const EvalEvent& event) {
  status_.on(event);
  if (options_.brief) return;
  std::string best = event.best              ? "new best"
                     : event.step == 0       ? "guessing: " + format_fixed(guessing_, 4)
                     : !status_.best.empty() ? "best " + status_.best
                                             : "";
  best.resize(std::max<std::size_t>(best.size(), event.exact ? 11 : 12), ' ');
  const auto loss = [](const std::string& name, const std::optional<double>& value, bool exact) {
    return value ? name + format_nats(*value, exact) : "";
  };
  std::string line =
      fitting_parts({aligned(format_step(event.step, status_.max_iters), event.step, status_.max_iters),
                     loss("val ", event.val_loss, event.exact) + (event.leaks ? " (leaks)" : ""), best,
                     loss("averaged ", event.averaged_val_loss, event.exact),
                     loss("train ", event.train_loss, /*exact=*/false), "after " + format_duration(event.seconds)},
                    options_.columns);
  constexpr std::string_view label = "new best";
  if (const std::size_t at = line.find(label); options_.color && at != std::string::npos)
    line.replace(at, label.size(), colored(std::string(label), green));
  print(line + "\n");
}

void ProgressPrinter::on(const CheckpointEvent& event) {
  if (options_.verbose)
    print("saved " + escape_for_terminal(event.path.native()) + (event.best ? " (best)" : "") + "\n");
}

void ProgressPrinter::on(const SampleEvent& event) {
  if (options_.verbose)
    print("sample after step " + format_count(event.step) + ":\n" + escape_for_terminal(event.text) + "\n");
}

void ProgressPrinter::on(const NoticeEvent& event) {
  const std::string prefix = "chargpt: ",
                    lines = wrapped(printable(event.line, SIZE_MAX), prefix.size(), options_.columns);
  print(prefix + colored(lines, options_.color ? yellow : "") + "\n");
}

void ProgressPrinter::on(const WorkEvent& event) {
  if (event.part == 0) work_begun_ = event.seconds;
  const bool has_parts = event.part != WorkEvent::no_parts;
  const bool soon = event.seconds - work_begun_ < seconds_before_work_is_shown || !line_.is_due(event.seconds);
  if (!shows_status() || (has_parts && soon)) return;
  line_.show({format_step(event.step, status_.max_iters),
              std::string(event.what) + (has_parts ? ": " + format_percent(event.part, 0) : "")},
             event.seconds);
}

void ProgressPrinter::print(const std::string& lines) {
  if (!options_.quiet) line_.print(lines);
}

}  // namespace chargpt
