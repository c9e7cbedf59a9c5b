#include "report/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace chargpt {
namespace {

constexpr std::size_t most_means = 256;

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<double> finite_of(std::span<const double> values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  return finite;
}

}  // namespace

std::string_view block_of(double share) {
  constexpr std::array<std::string_view, 9> blocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return blocks[static_cast<std::size_t>(std::clamp(share * 8.0 + 0.5, 0.0, 8.0))];
}

std::string sparkline(std::span<const double> values) {
  std::vector<double> finite = finite_of(values);
  if (finite.empty()) return std::string(values.size(), ' ');
  const auto top = finite.begin() + std::ssize(finite) * 4 / 5;
  std::nth_element(finite.begin(), top, finite.end());
  return sparkline(values, *top);
}

std::string sparkline(std::span<const double> values, double top) {
  const std::vector<double> finite = finite_of(values);
  const double low = finite.empty() ? 0 : *std::ranges::min_element(finite);
  std::string line;
  for (const double value : values) {
    const double share = top > low ? std::clamp((value - low) / (top - low), 0.0, 1.0) : value > low ? 1 : 0;
    line += std::isfinite(value) ? block_of(1.0 / 8 + share * 7 / 8) : " ";
  }
  return line;
}

void Series::add(double value) {
  if (!std::isfinite(value)) return;
  sum_ += value;
  if (++begun_ < stride_) return;
  means_.push_back(sum_ / static_cast<double>(begun_));
  sum_ = 0;
  begun_ = 0;
  if (means_.size() < most_means) return;
  for (std::size_t i = 0; i < most_means / 2; ++i) means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
  means_.resize(most_means / 2);
  stride_ *= 2;
}

std::vector<double> Series::means(std::size_t count) const {
  const std::size_t n = means_.size();
  if (n <= count) return means_;
  std::vector<double> found;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * n / count, end = (i + 1) * n / count;
    found.push_back(mean(std::span(means_).subspan(begin, end - begin)));
  }
  return found;
}

}  // namespace chargpt
