#include "report/ending.h"

#include "base/line_of.h"
#include "report/format.h"

namespace chargpt {
namespace {

std::string updates_of(const EndEvent& end) {
  return " after " + format_count(end.step) + " of " + format_count(end.max_iters) + " updates";
}

}  // namespace

std::string why_ended(const EndEvent& end) {
  switch (end.ended) {
    case Ending::finished:
      return "finished: all " + format_count(end.step) + " updates are done";
    case Ending::patience:
      return "ended by patience" + updates_of(end) + ": no better validation loss in the last " +
             format_count(end.patience) + (end.patience == 1 ? " evaluation" : " evaluations");
    case Ending::seconds:
      return "ended by max_seconds" + updates_of(end) + ": the next one would not have been saved within " +
             line_of(end.max_seconds) + " s";
    case Ending::stopped:
      return "stopped" + updates_of(end);
    case Ending::diverged:
      return "diverged" + updates_of(end);
    case Ending::unknown:
      break;
  }
  return "it is not known why it ended" + updates_of(end);
}

std::string why_ended(const EndEvent& end, const std::string& run) {
  const std::string resume = why_ended(end) + "; chargpt resume " + run;
  switch (end.ended) {
    case Ending::finished:
      return resume + " --max_iters N goes on to N";
    case Ending::patience:
      return resume + " --max_iters N goes on and begins patience anew";
    case Ending::seconds:
      return resume + " --max_seconds S goes on until S seconds in all";
    default:
      return resume + " goes on";
  }
}

}  // namespace chargpt
