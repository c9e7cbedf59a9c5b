#include "page/matrix_picture.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.h"

namespace chargpt {
namespace {

constexpr std::array<unsigned char, 3> below_zero = {37, 99, 235}, above_zero = {234, 88, 12};

void append_number(std::string& bytes, std::uint64_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 255);
}

/// Length, kind, content, and the checksum of the two last.
void append_chunk(std::string& png, std::string_view kind, std::string_view content) {
  append_number(png, content.size());
  const std::string checked = std::string(kind) + std::string(content);
  png += checked;
  append_number(png, crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())));
}

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
               bytes.size()) != Z_OK)
    throw Error(ExitCode::memory, "zlib could not get the memory for a picture; free some memory");
  packed.resize(size);
  return packed;
}

}  // namespace

std::string matrix_png(std::span<const float> values, std::int64_t columns) {
  const auto width = static_cast<std::size_t>(columns), height = values.size() / width;
  float largest = 0;
  for (const float value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  std::string rows;
  rows.reserve(height * (1 + 4 * width));
  for (std::size_t row = 0; row < height; ++row) {
    rows += '\0';  // no filter
    for (const float value : values.subspan(row * width, width)) {
      for (const unsigned char part : value < 0 ? below_zero : above_zero) rows += static_cast<char>(part);
      const float share = largest > 0 ? std::abs(value) / largest : 0;
      rows += static_cast<char>(std::lround(255 * (std::isfinite(share) ? std::min(share, 1.0F) : 1.0F)));
    }
  }
  std::string header;
  append_number(header, width);
  append_number(header, height);
  header += std::string{8, 6, 0, 0, 0};  // bits, RGBA, and the only methods there are
  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", compressed(rows));
  append_chunk(png, "IEND", "");
  return png;
}

}  // namespace chargpt
