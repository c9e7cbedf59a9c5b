#include "checkpoint/strict_json.h"

#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/quote.h"
#include "config/source.h"

namespace chargpt {
namespace {

/// Every JSON reader keeps it exactly, and counting on from it for a lifetime does not overflow.
constexpr std::int64_t largest_integer = std::int64_t{1} << 53;
constexpr double infinity = std::numeric_limits<double>::infinity();

nlohmann::json json_of(const Value& value) {
  nlohmann::json json;
  switch (value.kind) {
    case Value::Kind::object:
      json = nlohmann::json::object();
      for (const Member& member : value.members) json[member.key] = json_of(member.value);
      return json;
    case Value::Kind::array:
      json = nlohmann::json::array();
      for (const Value& item : value.items) json.push_back(json_of(item));
      return json;
    case Value::Kind::string:
      return value.text;
    default:
      return nlohmann::json::parse(value.text);
  }
}

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, const std::string& source) {
  return json_of(read_json(text, {source}, Author::program));
}

StrictObject::StrictObject(const nlohmann::json& json, std::string source) : json_(json), source_(std::move(source)) {
  if (!json_.is_object()) throw Error(ExitCode::data, source_ + " is not a JSON object");
}

const nlohmann::json& StrictObject::field(const std::string& name) const {
  const auto found = json_.find(name);
  if (found == json_.end()) throw Error(ExitCode::data, source_ + ": field '" + name + "' is missing");
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

int StrictObject::version(const std::string& format, int current) const {
  const std::int64_t found = integer("version", 1);
  if (found > current)
    throw NewerFormat(source_ + ": " + format + " of version " + std::to_string(found) +
                      ", written by a newer chargpt; this one reads up to version " + std::to_string(current));
  return static_cast<int>(found);
}

void StrictObject::refuse(const std::string& name, const std::string& wanted) const {
  const std::string found = field(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  throw Error(ExitCode::data,
              source_ + ": field '" + printable(name) + "' is " + printable(found, 40) + ", not " + wanted);
}

nlohmann::ordered_json json_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string json_hex(std::uint64_t value) {
  std::array<char, 20> digits{};
  std::snprintf(digits.data(), digits.size(), "%016" PRIx64, value);
  return digits.data();
}

}  // namespace chargpt
