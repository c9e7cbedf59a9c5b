// What metrics.jsonl tells of a run's course: its curves, of any length in bounded memory, and where it stands. Knows
// no file and no terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "report/events.h"
#include "report/progress.h"

namespace chargpt {

/// At most `most` items (an even number): all that were added, or, once they are more, as many groups of neighbours of
/// one size, each merged into one item.
template <class Item>
class Thinned {
 public:
  /// The item for two groups, each of so many, the first before the second.
  using Merge = Item (*)(const Item& first, double of_first, const Item& second, double of_second);

  Thinned(std::size_t most, Merge merge) : most_(most), merge_(merge) {}

  void add(Item item) {
    if (!items_.empty() && in_last_ < size_) {
      items_.back() = merge_(items_.back(), static_cast<double>(in_last_++), item, 1);
      return;
    }
    if (items_.size() == most_) halve();
    items_.push_back(std::move(item));
    in_last_ = 1;
  }
  void pop_back() {
    items_.pop_back();
    in_last_ = size_;
  }
  const std::vector<Item>& items() const { return items_; }

 private:
  void halve() {
    for (std::size_t i = 0; i < most_ / 2; ++i)
      items_[i] = merge_(items_[2 * i], static_cast<double>(size_), items_[2 * i + 1], static_cast<double>(size_));
    items_.resize(most_ / 2);
    size_ *= 2;
  }

  std::size_t most_;
  Merge merge_;
  std::vector<Item> items_;
  std::size_t size_ = 1, in_last_ = 0;  ///< of a group; of the last one, which may be growing
};

class RunCurves {
 public:
  RunCurves();
  struct Step {
    std::int64_t step = 0;
    double seconds = 0, loss = 0;  ///< NaN where the row holds no number
  };
  struct Evaluation {
    std::int64_t step = 0;
    double seconds = 0, val_loss = 0;
  };

  /// A row of metrics.jsonl; of an unknown kind or without what is needed: nothing. One of an earlier step than those
  /// before it (a run went back) takes the place of what followed.
  void add(const nlohmann::ordered_json& row);

  /// Of a long run the means of neighbours, each at the last one's step.
  const std::vector<Step>& steps() const { return steps_.items(); }
  const std::vector<Evaluation>& evaluations() const { return evaluations_.items(); }
  bool leaks() const { return leaks_; }
  std::int64_t step() const { return step_; }
  std::int64_t max_iters() const { return max_iters_; }  ///< 0: not known
  double seconds() const { return seconds_; }
  double loss() const { return loss_.value(); }  ///< of the last logged steps, smoothed
  double tokens_per_second() const { return tokens_per_second_.value(); }
  /// The validation loss of the best evaluation and its step.
  double best_val_loss() const { return best_val_loss_; }
  bool exact() const { return exact_; }  ///< whether that is no estimate
  std::int64_t best_step() const { return best_step_; }
  /// By the pace of the last process.
  std::optional<double> seconds_left() const { return remaining_.left(); }
  /// The end that the last row tells; `ended` unknown if the run went on.
  const EndEvent& end() const { return end_; }

 private:
  void go_to(std::int64_t step);

  Thinned<Step> steps_;
  Thinned<Evaluation> evaluations_;
  bool leaks_ = false, exact_ = false;
  std::int64_t step_ = 0, max_iters_ = 0, best_step_ = 0;
  double seconds_ = 0, best_val_loss_ = std::numeric_limits<double>::infinity();
  SmoothedValue loss_{0.2}, tokens_per_second_{0.2};
  RemainingTime remaining_;  ///< of the last process
  EndEvent end_;
};

}  // namespace chargpt
