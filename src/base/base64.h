// Bytes as base64 (RFC 4648, section 4). Knows no file.
#pragma once

#include <string>
#include <string_view>

namespace chargpt {

/// Padded with '=', in one line.
std::string base64(std::string_view bytes);

}  // namespace chargpt
