// One line about work under way: repainted on a terminal, elsewhere a plain line every few seconds. Independent of
// streams and clocks: it writes to a sink, and is told the time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/log.h"

namespace chargpt {

/// As many of the first parts as fit into `columns` (0: all), two spaces apart, without empty parts and spaces at the
/// end. If not even the first part fits, it is cut.
std::string fitting_parts(const std::vector<std::string>& parts, std::size_t columns);

/// "34%"
std::string percentage(double share);

class StatusLine {
 public:
  using Sink = std::function<void(std::string_view)>;
  /// `columns`: the width of a terminal that can repaint a line; 0: plain lines.
  StatusLine(std::size_t columns, Sink sink) : columns_(columns), sink_(std::move(sink)) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Whether it is time for show(); `now` and `until` in seconds.
  bool is_due(double now) const { return now >= next_; }
  void delay(double until) { next_ = std::max(next_, until); }
  /// Shows the parts, the most important first, as far as they fit.
  void show(const std::vector<std::string>& parts, double now);
  /// Writes whole lines in place of the status line, which on a terminal is due again.
  void print(std::string_view lines);
  void clear();

 private:
  std::size_t columns_;
  Sink sink_;
  double next_ = 0;
  bool painted_ = false;
};

}  // namespace chargpt
