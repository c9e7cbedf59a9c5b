// A curve in one line of text, and the values that it is drawn from. Does not know what they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// A block as high as `share` (0 to 1) of a line; a space for next to nothing.
std::string_view block_of(double share);

/// One block for each value, the lowest one ▁, and █ from where four of five values are lower on: a curve falls
/// steeply at first, and its first values would leave no height for the rest. A space for a value that is not finite.
std::string sparkline(std::span<const double> values);
/// The same with █ from `top` on.
std::string sparkline(std::span<const double> values, double top);

/// All values of a long series in little memory: means of more and more of them.
class Series {
 public:
  /// One that is not finite counts for nothing.
  void add(double value);
  /// Means of `count` stretches of equal length, or of fewer if there are not as many values.
  std::vector<double> means(std::size_t count) const;

 private:
  std::vector<double> means_;  ///< of stride_ values each
  std::int64_t stride_ = 1;    ///< a power of two
  std::int64_t begun_ = 0;     ///< values of the next mean that are there
  double sum_ = 0;             ///< of these
};

}  // namespace chargpt
