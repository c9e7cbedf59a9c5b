// The curves and the current state of a run, from the rows of metrics.jsonl. Memory is bounded for runs of any length.
// Independent of files and terminals.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <utility>
#include <vector>

#include "report/events.h"
#include "report/progress.h"

namespace chargpt {

/// Keeps at most `most` (even) items: all that were added, or the last of each group of 2, 4, 8, … neighbours.
template <class Item>
class Thinned {
 public:
  explicit Thinned(std::size_t most) : most_(most) {}

  void add(Item item) {
    if (added_++ % group_ != 0) {
      items_.back() = std::move(item);
      return;
    }
    if (items_.size() == most_) {
      for (std::size_t i = 0; i < most_ / 2; ++i) items_[i] = std::move(items_[2 * i + 1]);
      items_.resize(most_ / 2);
      group_ *= 2;
    }
    items_.push_back(std::move(item));
  }
  const std::vector<Item>& items() const { return items_; }

 private:
  std::size_t most_, added_ = 0, group_ = 1;
  std::vector<Item> items_;
};

struct RunCurves {
  /// Adds a row of metrics.jsonl. Ignores rows of an unknown kind or without a step.
  void add(const nlohmann::ordered_json& row);

  Thinned<std::pair<double, double>> train{4096}, val{4096};  ///< losses by step
  RunStatus status{0.2};
  EndEvent end = {};  ///< `ended` is unknown unless the run has ended and was not resumed
};

}  // namespace chargpt
