#include "report/events.h"

#include "base/quote.h"
#include "report/format.h"

namespace chargpt {
namespace {

std::string steps_of(const EndEvent& end) {
  return " after " + format_count(end.step) + " of " + format_count(end.max_iters, "step");
}

}  // namespace

std::string why_ended(const EndEvent& end) {
  switch (end.ended) {
    case Ending::finished:
      return "finished after " + format_count(end.step, "step");
    case Ending::patience:
      return "ended by patience" + steps_of(end) + ": no better validation loss in the last " +
             format_count(end.patience, "evaluation");
    case Ending::seconds:
      return "ended by max_seconds" + steps_of(end) + ": another step would not have been saved within " +
             line_of(end.max_seconds) + " s";
    case Ending::stopped:
      return "stopped" + steps_of(end);
    case Ending::diverged:
      return "diverged" + steps_of(end);
    case Ending::unknown:
      break;
  }
  return "ended for an unknown reason" + steps_of(end);
}

std::string command_to_go_on(const EndEvent& end, const std::string& run) {
  const std::string resume = "chargpt resume " + shell_quoted(run);
  if (end.ended == Ending::seconds) return resume + " --max_seconds " + line_of(2 * end.max_seconds);
  if (end.ended == Ending::finished || end.ended == Ending::patience)
    return resume + " --max_iters " + line_of(end.max_iters > 0 ? 2 * end.max_iters : 1000);
  return resume;
}

}  // namespace chargpt
