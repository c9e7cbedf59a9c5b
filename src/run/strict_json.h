// Untrusted JSON that programs wrote: each field is checked for presence, type and range.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace chargpt {

/// Parses `text`. Error data, naming `source`, if it is not JSON, has a duplicate key or a NUL, or nests deeper than 16
/// levels.
nlohmann::json parse_strict_json(std::string_view text, const std::string& source);

/// A JSON object with required fields. Each reader throws Error data, naming source and field, if the field is missing,
/// of another type or out of range.
class StrictObject {
 public:
  StrictObject(const nlohmann::json& json, std::string source);
  const std::string& source() const { return source_; }
  bool has(const std::string& name) const { return json_.contains(name); }
  const nlohmann::json& field(const std::string& name) const;
  /// A whole number from `least` to 2^53.
  std::int64_t integer(const std::string& name, std::int64_t least) const;
  /// A number, or "inf", "-inf" or "nan".
  double real(const std::string& name) const;
  std::string text(const std::string& name) const;
  /// A list of `fewest` to `most` whole numbers, none below 0.
  std::vector<std::int64_t> sizes(const std::string& name, std::size_t fewest, std::size_t most) const;
  /// Sixteen hexadecimal digits, as json_hex() writes them.
  std::uint64_t hex(const std::string& name) const;
  /// Throws Error data: "field NAME is …, not WANTED".
  [[noreturn]] void refuse(const std::string& name, const std::string& wanted) const;

 private:
  const nlohmann::json& json_;
  std::string source_;
};

/// 64 bits as a string, because many JSON readers keep only 53 bits of a number.
std::string json_hex(std::uint64_t value);

}  // namespace chargpt
