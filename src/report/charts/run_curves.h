// What metrics.jsonl tells of a run's course: its curves, and where it stands. Knows no file and no terminal.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "report/charts/thinned.h"
#include "report/events.h"
#include "report/progress.h"

namespace chargpt {

class RunCurves {
 public:
  RunCurves();
  struct Step {
    std::int64_t step = 0;
    double seconds = 0, loss = 0;  ///< NaN where the row holds no number
  };
  struct Evaluation {
    std::int64_t step = 0;
    double seconds = 0, train_loss = 0, val_loss = 0;
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
  /// The lowest validation loss and its step.
  double best_val_loss() const { return best_val_loss_; }
  std::int64_t best_step() const { return best_step_; }
  /// By the mean time of a step of the last process.
  std::optional<double> seconds_left() const { return remaining_.of(max_iters_ - step_); }
  /// The end that the last row tells; `ended` unknown if the run went on.
  const EndEvent& end() const { return end_; }

 private:
  void go_to(std::int64_t step);

  Thinned<Step> steps_;
  Thinned<Evaluation> evaluations_;
  bool leaks_ = false;
  std::int64_t step_ = 0, max_iters_ = 0, best_step_ = 0;
  double seconds_ = 0, best_val_loss_ = std::numeric_limits<double>::infinity();
  SmoothedValue loss_{0.2}, tokens_per_second_{0.2};
  RemainingTime remaining_;  ///< of the last process
  EndEvent end_;
};

}  // namespace chargpt
