// A progress line: repainted on a terminal, elsewhere a new line every few seconds. Independent of streams and clocks:
// the caller passes a sink and the time.
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

/// Joins as many leading parts as fit into `columns` (0: all), two spaces apart, without empty parts and trailing
/// spaces. Cuts the first part if it does not fit.
std::string fitting_parts(const std::vector<std::string>& parts, std::size_t columns);

class StatusLine {
 public:
  using Sink = std::function<void(std::string_view)>;
  /// `columns`: the width of a terminal that can repaint a line; 0: plain lines.
  StatusLine(std::size_t columns, Sink sink) : columns_(columns), sink_(std::move(sink)) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Whether show() is due. `now` and `until`: seconds.
  bool is_due(double now) const { return now >= next_; }
  void delay(double until) { next_ = std::max(next_, until); }
  /// Shows as many of the parts, most important first, as fit.
  void show(const std::vector<std::string>& parts, double now);
  /// Replaces the status line by whole lines; on a terminal show() is then due at once.
  void print(std::string_view lines);
  void clear();

 private:
  std::size_t columns_;
  Sink sink_;
  double next_ = 0;
  bool painted_ = false;
};

}  // namespace chargpt
