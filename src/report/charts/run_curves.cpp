#include "report/charts/run_curves.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "report/files/metrics.h"

namespace chargpt {
namespace {

using Row = nlohmann::ordered_json;

/// A count, or -1 if it is not plausible.
std::int64_t count(const Row& row, const char* key) {
  const double value = number_in(row, key);
  return value >= 0 && value <= 1e15 ? static_cast<std::int64_t>(value) : -1;
}

}  // namespace

void RunCurves::add(const Row& row) {
  constexpr double largest = 1e9;  // larger losses, of a diverging run, would flatten the curve
  const std::string kind = row.value("kind", std::string());
  const auto number = [&row](const char* key) { return number_in(row, key); };
  const auto is = [&row](const char* key) { return row.value(key, Row()) == true; };
  const std::int64_t step = count(row, "step"), max_iters = std::max<std::int64_t>(0, count(row, "max_iters"));
  const auto draw = [step](Points& curve, double loss) {
    if (std::abs(loss) < largest) curve.emplace_back(step, loss);
  };
  if (step < 0) return;
  if (kind == "plan") {
    status.begin(step, is("by_clock") ? 0 : max_iters, is("leaks"));
    end = {};
  } else if (kind == "train") {
    draw(train, number("loss"));
    status.on(StepEvent{.step = step,
                        .max_iters = status.max_iters,
                        .share = number("share"),
                        .loss = number("loss"),
                        .tokens_per_second = number("tokens_per_second"),
                        .seconds = number("seconds")});
  } else if (kind == "eval") {
    draw(val, number("val_loss"));
    status.on(EvalEvent{.step = step,
                        .train_loss = {},
                        .best = is("best"),
                        .exact = is("exact"),
                        .best_val_loss = number("best_val_loss")});
  } else if (kind == "end") {
    end.ended = ending_in(row);
    end.step = status.step = step;
    end.max_iters = max_iters;
    status.seconds = number("seconds");
  }
}

}  // namespace chargpt
