// Numbers whose first byte is the lowest, as files hold them.
#pragma once

#include <cstdint>
#include <string_view>

namespace chargpt {

/// The number that at most 8 bytes are.
inline std::uint64_t from_little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

}  // namespace chargpt
