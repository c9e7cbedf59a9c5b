// JSON that programs write, hostile until read: every field is there once, of its type and within its range.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace chargpt {

/// Error data naming `source` where `text` is not JSON, gives a key twice, nests deeper than 16 or holds a NUL.
nlohmann::json parse_strict_json(std::string_view text, const std::string& source);

/// An object whose fields must be there. Each reader is an Error data naming source and field, where the field is
/// missing, of another type or out of range.
class StrictObject {
 public:
  StrictObject(const nlohmann::json& json, std::string source);
  const std::string& source() const { return source_; }
  bool has(const std::string& name) const { return json_.contains(name); }
  const nlohmann::json& field(const std::string& name) const;
  /// A whole number, at least `least`.
  std::int64_t integer(const std::string& name, std::int64_t least) const;
  /// A number, or "inf", "-inf", "nan" as written by json_real.
  double real(const std::string& name) const;
  std::string text(const std::string& name) const;
  /// So many whole numbers, none below 0.
  std::vector<std::int64_t> sizes(const std::string& name, std::size_t fewest, std::size_t most) const;
  /// Sixteen hexadecimal digits, as written by json_hex.
  std::uint64_t hex(const std::string& name) const;
  StrictObject object(const std::string& name) const;
  /// Error data: "field NAME is …, not WANTED".
  [[noreturn]] void refuse(const std::string& name, const std::string& wanted) const;

 private:
  const nlohmann::json& json_;
  std::string source_;
};

/// JSON has no name for infinities: those are written as strings. Finite numbers come back bit for bit.
nlohmann::ordered_json json_real(double value);
/// 64 bits as a string, as many readers of JSON keep only 53 bits of a number.
std::string json_hex(std::uint64_t value);

}  // namespace chargpt
