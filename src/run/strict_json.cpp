#include "run/strict_json.h"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <utility>

#include "base/quote.h"
#include "config/source.h"

namespace chargpt {
namespace {

/// Whether `value` is a whole number of at most `most`.
bool is_whole(const nlohmann::json& value, std::int64_t most) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  return value.is_number_integer() && value.get<std::int64_t>() <= most;
}

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, const std::string& source) {
  Source said{.label = source, .has_lines = false, .code = ExitCode::data};
  return read_json(text, said);
}

StrictObject::StrictObject(const nlohmann::json& json, std::string source) : json_(json), source_(std::move(source)) {
  if (!json_.is_object()) throw Error(ExitCode::data, source_, " is not a JSON object");
}

const nlohmann::json& StrictObject::field(const std::string& name) const {
  const auto found = json_.find(name);
  if (found == json_.end()) throw Error(ExitCode::data, source_, ": field '", name, "' is missing");
  return *found;
}

// Every JSON reader represents 2^53 exactly, and a counter that continues from it cannot overflow.
std::int64_t StrictObject::integer(const std::string& name, std::int64_t least) const {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  const nlohmann::json& value = field(name);
  if (!is_whole(value, most) || value.get<std::int64_t>() < least)
    refuse(name, line_of("a whole number from ", least, " to ", most));
  return value.get<std::int64_t>();
}

double StrictObject::real(const std::string& name) const {
  const nlohmann::json& value = field(name);
  if (value.is_number()) return value.get<double>();
  for (const char* spelled : {"inf", "-inf", "nan"})
    if (value == spelled) return std::strtod(spelled, nullptr);
  refuse(name, R"(a number, "inf", "-inf" or "nan")");
}

std::vector<std::int64_t> StrictObject::sizes(const std::string& name, std::size_t fewest, std::size_t most) const {
  const nlohmann::json& value = field(name);
  const auto is_size = [](const nlohmann::json& one) { return one.is_number_unsigned() && is_whole(one, INT64_MAX); };
  if (!value.is_array() || value.size() < fewest || value.size() > most || !std::ranges::all_of(value, is_size))
    refuse(name, line_of("a list of ", fewest, " to ", most, " whole numbers of at least 0"));
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

void StrictObject::refuse(const std::string& name, const std::string& wanted) const {
  const std::string found = field(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  throw Error(ExitCode::data, source_, ": field '", printable(name), "' is ", printable(found, 40), ", not ", wanted);
}

std::string json_hex(std::uint64_t value) {
  return formatted("%016" PRIx64, value);
}

}  // namespace chargpt
