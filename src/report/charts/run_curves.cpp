#include "report/charts/run_curves.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "report/files/metrics.h"

namespace chargpt {
namespace {

using Row = nlohmann::ordered_json;

/// -1 where there is none that a run could have.
std::int64_t count(const Row& row, const char* key) {
  constexpr double most = 1e15;
  const double value = number_in(row, key);
  return value >= 0 && value <= most ? static_cast<std::int64_t>(value) : -1;
}

constexpr std::size_t most_points = 4096;

template <class Points>
void cut_back(Points& points, std::int64_t step) {
  while (!points.items().empty() && points.items().back().step >= step) points.pop_back();
}

/// Of those that are numbers.
double mean(double a, double of_a, double b, double of_b) {
  return !std::isfinite(a) ? b : !std::isfinite(b) ? a : (a * of_a + b * of_b) / (of_a + of_b);
}

}  // namespace

RunCurves::RunCurves()
    : steps_(most_points,
             [](const Step& a, double of_a, const Step& b, double of_b) {
               return Step{b.step, b.seconds, mean(a.loss, of_a, b.loss, of_b)};
             }),
      evaluations_(most_points, [](const Evaluation& a, double of_a, const Evaluation& b, double of_b) {
        return Evaluation{b.step, b.seconds, mean(a.val_loss, of_a, b.val_loss, of_b)};
      }) {}

void RunCurves::add(const Row& row) {
  const std::string kind = row.value("kind", std::string());
  const std::int64_t step = count(row, "step");
  if (step < 0) return;
  if (kind == "plan") {
    leaks_ = row.value("leaks", Row()) == true;
    const bool by_clock = row.value("by_clock", Row()) == true;  // then max_iters is an estimate
    max_iters_ = by_clock ? 0 : std::max<std::int64_t>(0, count(row, "max_iters"));
    remaining_ = {};  // another process goes on
    go_to(step);
  } else if (kind == "train") {
    cut_back(steps_, step);
    const Step now{step, number_in(row, "seconds"), number_in(row, "loss")};
    steps_.add(now);
    loss_.add(now.loss);
    tokens_per_second_.add(number_in(row, "tokens_per_second"));
    remaining_.see(number_in(row, "share"), now.seconds);
    go_to(step);
  } else if (kind == "eval") {
    cut_back(evaluations_, step);
    const double averaged = number_in(row, "averaged_val_loss"), val_loss = number_in(row, "val_loss");
    evaluations_.add({step, number_in(row, "seconds"), val_loss});
    const double loss = averaged < val_loss ? averaged : val_loss;
    if (row.value("best", Row()) == true) {
      best_val_loss_ = loss;
      best_step_ = step;
      exact_ = row.value("exact", Row()) == true;
    }
    go_to(step);
  } else if (kind == "end") {
    go_to(step);
    const Row ended = row.value("ended", Row());
    if (ended.is_string()) end_.ended = enum_value<Ending>(ended.get<std::string>()).value_or(Ending::unknown);
    end_.step = step;
    end_.max_iters = std::max<std::int64_t>(0, count(row, "max_iters"));
  }
  if (const double seconds = number_in(row, "seconds"); std::isfinite(seconds)) seconds_ = seconds;
}

void RunCurves::go_to(std::int64_t step) {
  step_ = step;
  end_ = EndEvent();
}

}  // namespace chargpt
