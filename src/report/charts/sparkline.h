// A curve in one line of text. Does not know what its values are.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace chargpt {

/// A block as high as `share` (0 to 1) of a line; a space for next to nothing.
std::string_view block_of(double share);

/// One block for each value, ▁ for the lowest one and █ from `top` on; a space for a value that is not finite.
std::string sparkline(std::span<const double> values, double top);

}  // namespace chargpt
