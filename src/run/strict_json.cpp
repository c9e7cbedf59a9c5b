#include "run/strict_json.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/quote.h"

namespace chargpt {
namespace {

/// Every JSON reader keeps it exactly, and counting on from it for a lifetime does not overflow.
constexpr std::int64_t largest_integer = std::int64_t{1} << 53;
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr int deepest = 16;

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, const std::string& source) {
  // The parser would take a NUL as the end of the text.
  if (text.find('\0') != std::string_view::npos)
    throw Error(ExitCode::data, source, " is not JSON: it holds a NUL byte");
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::unordered_set<std::string>> keys;  // of the objects that are open
  // Called by the parser as it reads. Refuses what it would take silently: a key given twice, endless brackets.
  const auto check = [&](int depth, Event event, const nlohmann::json& value) {
    if (depth > deepest) throw Error(ExitCode::data, source, " is nested deeper than ", deepest, " levels");
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.get_ref<const std::string&>()).second)
      throw Error(ExitCode::data, source, ": field '", printable(value.get<std::string>()), "' is given twice");
    return true;
  };
  try {
    return nlohmann::json::parse(text, check);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(ExitCode::data, source, " is not JSON at its byte ", error.byte);
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::data, source, " holds a number that is too large");
  }
}

StrictObject::StrictObject(const nlohmann::json& json, std::string source) : json_(json), source_(std::move(source)) {
  if (!json_.is_object()) throw Error(ExitCode::data, source_, " is not a JSON object");
}

const nlohmann::json& StrictObject::field(const std::string& name) const {
  const auto found = json_.find(name);
  if (found == json_.end()) throw Error(ExitCode::data, source_, ": field '", name, "' is missing");
  return *found;
}

std::int64_t StrictObject::integer(const std::string& name, std::int64_t least) const {
  const nlohmann::json& value = field(name);
  const std::string wanted = "a whole number of at least " + std::to_string(least);
  if (!value.is_number_integer()) refuse(name, wanted);
  const bool above_int64 = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  if (above_int64 || value.get<std::int64_t>() > largest_integer)
    refuse(name, wanted + " and at most " + std::to_string(largest_integer));
  if (value.get<std::int64_t>() < least) refuse(name, wanted);
  return value.get<std::int64_t>();
}

double StrictObject::real(const std::string& name) const {
  const nlohmann::json& value = field(name);
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return infinity;
  if (value == "-inf") return -infinity;
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  refuse(name, R"(a number, "inf", "-inf" or "nan")");
}

std::vector<std::int64_t> StrictObject::sizes(const std::string& name, std::size_t most) const {
  const nlohmann::json& value = field(name);
  const auto is_size = [](const nlohmann::json& one) {
    return one.is_number_unsigned() && one.get<std::uint64_t>() <= INT64_MAX;
  };
  if (!value.is_array() || value.size() > most || !std::ranges::all_of(value, is_size))
    refuse(name, line_of("a list of at most ", most, " whole numbers of at least 0"));
  return value.get<std::vector<std::int64_t>>();
}

std::string StrictObject::text(const std::string& name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_string()) refuse(name, "a string");
  return value.get<std::string>();
}

std::uint64_t StrictObject::hex(const std::string& name) const {
  const nlohmann::json& value = field(name);
  const std::string digits = value.is_string() ? value.get<std::string>() : std::string();
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    refuse(name, "16 hexadecimal digits");
  return std::stoull(digits, nullptr, 16);
}

StrictObject StrictObject::object(const std::string& name) const {
  return {field(name), source_ + ": field '" + printable(name) + "'"};
}

void StrictObject::check_version(const std::string& format, int current) const {
  const std::int64_t found = integer("version", 1);
  if (found > current)
    throw NewerFormat(ExitCode::data, source_, ": ", format, " of version ", found,
                      ", made by a newer chargpt; this one reads version ", current);
}

void StrictObject::refuse(const std::string& name, const std::string& wanted) const {
  const std::string found = field(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  throw Error(ExitCode::data, source_, ": field '", printable(name), "' is ", printable(found, 40), ", not ", wanted);
}

nlohmann::ordered_json json_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string json_hex(std::uint64_t value) {
  return formatted("%016" PRIx64, value);
}

}  // namespace chargpt
