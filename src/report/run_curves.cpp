#include "report/run_curves.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace chargpt {
namespace {

using Row = nlohmann::ordered_json;

double number(const Row& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

/// -1 where there is none that a run could have.
std::int64_t count(const Row& row, const char* key) {
  constexpr double most = 1e15;
  const double value = number(row, key);
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
        return Evaluation{b.step, b.seconds, mean(a.train_loss, of_a, b.train_loss, of_b),
                          mean(a.val_loss, of_a, b.val_loss, of_b)};
      }) {}

void RunCurves::add(const Row& row) {
  const std::string kind = row.value("kind", std::string());
  const std::int64_t step = count(row, "step");
  if (step < 0) return;
  if (kind == "plan") {
    leaks_ = row.value("leaks", Row()) == true;
    max_iters_ = std::max<std::int64_t>(0, count(row, "max_iters"));
    first_.reset();
    go_to(step);
  } else if (kind == "train") {
    cut_back(steps_, step);
    const Step now{step, number(row, "seconds"), number(row, "loss")};
    steps_.add(now);
    loss_.add(now.loss);
    tokens_per_second_.add(number(row, "tokens_per_second"));
    if (!first_) first_ = now;
    go_to(step);
  } else if (kind == "eval") {
    cut_back(evaluations_, step);
    const double averaged = number(row, "averaged_val_loss"), val_loss = number(row, "val_loss");
    evaluations_.add({step, number(row, "seconds"), number(row, "train_loss"), val_loss});
    const double loss = averaged < val_loss ? averaged : val_loss;
    if (loss < best_val_loss_) {
      best_val_loss_ = loss;
      best_step_ = step;
    }
    go_to(step);
  } else if (kind == "end") {
    go_to(step);
    const Row ended = row.value("ended", Row());
    if (ended.is_string()) end_.ended = enum_value<Ending>(ended.get<std::string>()).value_or(Ending::unknown);
    end_.step = step;
    end_.max_iters = std::max<std::int64_t>(0, count(row, "max_iters"));
  }
  if (const double seconds = number(row, "seconds"); std::isfinite(seconds)) seconds_ = seconds;
}

void RunCurves::go_to(std::int64_t step) {
  step_ = step;
  end_ = EndEvent();
}

std::optional<double> RunCurves::seconds_left() const {
  if (!first_ || steps().empty() || steps().back().step <= first_->step || max_iters_ < step_) return std::nullopt;
  const Step& last = steps().back();
  const double seconds_per_step = (last.seconds - first_->seconds) / static_cast<double>(last.step - first_->step);
  if (!std::isfinite(seconds_per_step) || seconds_per_step < 0) return std::nullopt;
  return seconds_per_step * static_cast<double>(max_iters_ - step_);
}

}  // namespace chargpt
