// The curves and the current state of a run, from the rows of metrics.jsonl. Independent of files and terminals.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/charts/terminal_chart.h"
#include "report/events.h"
#include "report/progress.h"

namespace chargpt {

struct RunCurves {
  /// Adds a row of metrics.jsonl. Ignores rows of an unknown kind or without a step.
  void add(const nlohmann::ordered_json& row);

  Points train, val;  ///< losses by step
  RunStatus status{0.2};
  EndEvent end = {};  ///< `ended` is unknown unless the run has ended and was not resumed
};

}  // namespace chargpt
