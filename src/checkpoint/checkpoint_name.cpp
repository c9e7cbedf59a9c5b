#include "checkpoint/checkpoint_name.h"

#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>

namespace chargpt {
namespace {

constexpr std::string_view step_prefix = "step-";

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  std::array<char, 40> name{};
  std::snprintf(name.data(), name.size(), "step-%08" PRId64, step);
  return name.data();
}

std::optional<std::int64_t> checkpoint_step(std::string_view name) {
  if (!name.starts_with(step_prefix)) return std::nullopt;
  const std::string_view digits = name.substr(step_prefix.size());
  std::int64_t step = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (failure != std::errc() || checkpoint_name(step) != name) return std::nullopt;
  return step >= 0 ? std::optional(step) : std::nullopt;
}

}  // namespace chargpt
