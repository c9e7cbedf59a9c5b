// Conversions of bytes to numbers and text, and checksums. Independent of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace chargpt {

/// The number stored in `bytes`, at most 8 of them, in little-endian order.
std::uint64_t from_little_endian(std::string_view bytes);

/// The decimal whole number that `text` consists of; nullopt if it contains anything else or does not fit 64 bits.
std::optional<std::int64_t> whole_number(std::string_view text);

/// `bytes` in base64 (RFC 4648, section 4), padded with '=', on one line.
std::string base64(std::string_view bytes);

/// CRC-64 of `bytes` (ECMA-182, reflected, as in xz): detects accidental damage, not malice. `so_far`: the CRC of the
/// bytes before them.
std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t so_far = 0);
std::uint64_t crc64(std::string_view bytes, std::uint64_t so_far = 0);

}  // namespace chargpt
