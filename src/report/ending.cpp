#include "report/ending.h"

#include "base/line_of.h"
#include "base/quote.h"
#include "report/format.h"

namespace chargpt {
namespace {

std::string steps_of(const EndEvent& end) {
  return " after " + format_count(end.step) + " of " + format_count(end.max_iters) + " steps";
}

}  // namespace

std::string why_ended(const EndEvent& end) {
  switch (end.ended) {
    case Ending::finished:
      return "finished: all " + format_count(end.step) + " steps are done";
    case Ending::patience:
      return "ended by patience" + steps_of(end) + ": no better validation loss in the last " +
             format_count(end.patience) + (end.patience == 1 ? " evaluation" : " evaluations");
    case Ending::seconds:
      return "ended by max_seconds" + steps_of(end) + ": the next one would not have been saved within " +
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

std::string why_ended(const EndEvent& end, const std::string& run) {
  const std::string resume = why_ended(end) + "; chargpt resume " + shell_quoted(run);
  switch (end.ended) {
    case Ending::finished:
      return resume + " --max_iters N goes on to step N";
    case Ending::patience:
      return resume + " --max_iters N goes on with fresh patience";
    case Ending::seconds:
      return resume + " --max_seconds S goes on to S seconds in total";
    default:
      return resume + " goes on";
  }
}

}  // namespace chargpt
