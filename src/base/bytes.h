// Conversions of bytes to numbers and text, and checksums. Independent of files.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace chargpt {

/// The number stored in `bytes`, at most 8 of them, in little-endian order.
std::uint64_t from_little_endian(std::string_view bytes);

/// The decimal number that `text` consists of; nullopt if it contains anything else or is beyond the type's range.
template <class Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// `bytes` in base64 (RFC 4648, section 4), padded with '=', on one line.
std::string base64(std::string_view bytes);

/// CRC-64 of `bytes` (ECMA-182, reflected, as in xz): detects accidental damage, not malice. `so_far`: the CRC of the
/// bytes before them.
std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t so_far = 0);
std::uint64_t crc64(std::string_view bytes, std::uint64_t so_far = 0);

}  // namespace chargpt
