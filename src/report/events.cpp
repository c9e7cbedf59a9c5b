#include "report/events.h"

#include "base/quote.h"
#include "report/format.h"

namespace chargpt {
namespace {

std::string steps_of(const EndEvent& end) {
  return " after " + (end.max_iters > 0 ? format_count(end.step) + " of " + format_count(end.max_iters, "step")
                                        : format_count(end.step, "step"));
}

}  // namespace

std::string why_ended(const EndEvent& end) {
  switch (end.ended) {
    case Ending::finished:
      return "finished after " + format_count(end.step, "step");
    case Ending::patience:
      return "ended by patience" + steps_of(end) + ", because validation loss no longer improved";
    case Ending::seconds:
      return "ended after " + format_count(end.step, "step") + ", when its seconds were used up";
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
  if (end.ended == Ending::seconds) return resume + " --minutes " + line_of(end.max_seconds / 60);
  if (end.ended == Ending::finished)
    return resume + " --max_iters " + line_of(end.max_iters > 0 ? 2 * end.max_iters : 1000);
  return resume;
}

}  // namespace chargpt
