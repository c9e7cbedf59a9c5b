// Planned runs (compare/runs.h) as children of this program, and what a person sees of them: one line for all that
// is running, the plan of the first.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "cli/arguments.h"
#include "cli/output.h"
#include "compare/runs.h"
#include "text/corpus.h"

namespace chargpt {

/// What a child is told beside its folder; see PlannedTraining.
struct ChildOrder {
  bool verbose = false;
  std::int64_t jobs = 1;
  DeviceArguments device = {};
  std::string engine = "auto";
};

/// `compare RUN --planned` with that, on the text of `corpus`: what cannot be read again is kept in the run first.
/// Errors: usage where it cannot be; those of ChildProcess.
std::unique_ptr<ChildProcess> start_child(const ChildOrder& order, const PlannedRun& run, const Corpus& corpus);

class RunsWatcher {
 public:
  /// `configs`: how many the comparison has.
  RunsWatcher(const OutputArguments& output, std::size_t configs) : output_(output), configs_(configs) {}
  /// row, watched, said. It must outlive them.
  RunsHooks hooks();
  /// A line on a run that has ended: on a terminal only with --verbose, as the table will say it.
  void tell(const std::string& line);

 private:
  void show_row(const nlohmann::ordered_json& row);
  void show_said(const std::string& text);

  OutputArguments output_;
  std::size_t configs_;
  bool plan_shown_ = false;
  std::set<std::string> told_;  ///< notices, without their numbers: many runs have the same
  WorkLine line_{output_, /*after=*/1};
};

}  // namespace chargpt
