// A matrix of numbers as a picture: one pixel for each, blue below zero and orange above, clear at zero.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace chargpt {

/// A PNG file (ISO/IEC 15948, RGBA, 8 bits) of (rows, columns); the largest magnitude is opaque. At least one number.
std::string matrix_png(std::span<const float> values, std::int64_t columns);

}  // namespace chargpt
