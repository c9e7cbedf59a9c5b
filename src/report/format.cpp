#include "report/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/quote.h"

namespace chargpt {
namespace {

/// Divides by 1000 until `value`, written without decimals, is below 1000; returns the decimal prefix of its unit.
std::string scale_down(double& value) {
  constexpr std::array prefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t divisions = 0;
  for (; std::abs(value) >= 999.5 && divisions + 1 < prefixes.size(); ++divisions) value /= 1000;
  return prefixes.at(divisions);
}

/// Nesting depth of brackets outside strings.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

}  // namespace

std::string format_fixed(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = formatted("%.*f", digits, value);
  return text.find_first_of("123456789") == text.npos && std::signbit(value) ? text.substr(1) : text;  // no "-0.0"
}

std::string format_percent(double part, int digits) {
  return format_fixed(100 * part, digits) + " %";
}

std::string format_bytes(std::int64_t bytes) {
  auto value = static_cast<double>(bytes);
  if (std::abs(value) < 1000) return std::to_string(bytes) + " B";
  const std::string prefix = scale_down(value);
  return format_fixed(value, std::abs(value) < 9.95 ? 1 : 0) + " " + prefix + "B";
}

std::string format_count(std::int64_t count) {
  const std::string digits = std::to_string(count);
  const std::size_t first_digit = count < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first_digit && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_count(std::int64_t count, std::string_view what) {
  return format_count(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

std::string format_step(std::int64_t step, std::int64_t max_iters) {
  return "step " + format_count(step) + (max_iters > 0 ? " of " + format_count(max_iters) : "");
}

std::string format_short(double value) {
  if (!std::isfinite(value)) return format_fixed(value, 0);
  const std::string prefix = scale_down(value);
  const double size = std::abs(value);
  const int digits = size >= 99.95 ? 0 : size >= 9.995 || prefix.empty() ? 1 : 2;
  return format_fixed(value, digits) + prefix;
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds < 9.95) return format_fixed(seconds, 1) + " s";
  constexpr double longest = 1e15;  // fits into the 64-bit count below
  const long long total = std::llround(std::fmin(seconds, longest));
  if (total < 60) return std::to_string(total) + " s";
  if (total < 3600) return formatted("%lld min %02lld s", total / 60, total % 60);
  const long long minutes = total / 60;
  if (total < 86400) return formatted("%lld h %02lld min", minutes / 60, minutes % 60);
  return std::to_string(total / 86400) + " d " + std::to_string(total / 3600 % 24) + " h";
}

std::string format_nats(double nats, bool exact) {
  return (exact ? "" : "≈") + format_fixed(nats, 4);
}

std::string format_loss(double nats, bool exact) {
  if (!std::isfinite(nats)) return format_fixed(nats, 4);
  const double perplexity = std::exp(nats);
  const std::string shown = formatted(perplexity < 1e6 ? "%.2f" : "%.3g", perplexity);
  return format_nats(nats, exact) + " (" + format_fixed(nats / std::numbers::ln2, 3) + " bits, ppl " + shown + ")";
}

std::string json_text(const nlohmann::ordered_json& json, int indent, const char* end) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + end;
}

nlohmann::ordered_json value_at(const nlohmann::ordered_json& json, const std::string& place) {
  const Json::json_pointer pointer(place);
  return json.contains(pointer) ? json.at(pointer) : Json();
}

nlohmann::ordered_json foreign_json(std::string_view text) {
  if (depth_of(text) > 16) return Json::value_t::discarded;
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace chargpt
