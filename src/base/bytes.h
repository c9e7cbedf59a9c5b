// Bytes as numbers, as text, and summed. Knows no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace chargpt {

/// The number that at most 8 bytes are, whose first is the lowest.
std::uint64_t from_little_endian(std::string_view bytes);

/// All of a text as a whole number in decimals; none where it is something else, or does not fit.
std::optional<std::int64_t> whole_number(std::string_view text);

/// As base64 (RFC 4648, section 4), padded with '=', in one line.
std::string base64(std::string_view bytes);

/// CRC-64 (ECMA-182, reflected; xz's): catches accidental damage, not malice. `so_far` continues an earlier sum.
std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t so_far = 0);
std::uint64_t crc64(std::string_view bytes, std::uint64_t so_far = 0);

}  // namespace chargpt
