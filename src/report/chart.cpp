#include "report/chart.h"

#include <cmath>

namespace chargpt {

std::vector<double> round_ticks(double low, double high, int count) {
  const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

}  // namespace chargpt
