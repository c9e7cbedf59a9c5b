// A line on stderr that says how far long work has come: repainted on a terminal, else a plain line now and then. Knows
// no work.
#pragma once

#include <string>

#include "base/heartbeat.h"
#include "cli/arguments.h"

namespace chargpt {

class WorkLine {
 public:
  /// Shows nothing in the first `after` seconds, and nothing at all with --quiet.
  explicit WorkLine(const OutputArguments& output, double after = 2);
  ~WorkLine() { clear(); }
  WorkLine(const WorkLine&) = delete;
  WorkLine& operator=(const WorkLine&) = delete;

  /// Whether show() would write now; what it shows may take work to say.
  bool is_due() const;
  void show(const std::string& text);
  /// Shows "`what`: 34%". The line must outlive it.
  Heartbeat heartbeat(const std::string& what);
  void clear();
  double seconds() const;  ///< since it was made

 private:
  const bool quiet_, terminal_;
  const double begun_;
  double next_;  ///< when the next line is due
  bool painted_ = false;
};

}  // namespace chargpt
