#include "report/symbols.h"

#include <algorithm>
#include <span>

#include "base/utf8.h"

namespace chargpt {
namespace {

struct Interval {
  char32_t first, last;
};

// Blocks rather than single symbols: a terminal that disagrees about one of them shifts a column, no more.
constexpr Interval no_columns[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},  {0x064B, 0x065F},
                                   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},  {0x20D0, 0x20FF},
                                   {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}};
constexpr Interval two_columns[] = {{0x1100, 0x115F},  {0x2E80, 0x303E}, {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},
                                    {0xA960, 0xA97F},  {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                                    {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1FAFF},
                                    {0x20000, 0x3FFFD}};

bool in(std::span<const Interval> intervals, char32_t code_point) {
  return std::ranges::any_of(intervals, [&](Interval i) { return code_point >= i.first && code_point <= i.last; });
}

std::size_t columns_of(const DecodedCharacter& symbol) {
  if (!symbol.valid()) return 1;
  if (in(no_columns, symbol.code_point)) return 0;
  return in(two_columns, symbol.code_point) ? 2 : 1;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const DecodedCharacter symbol = decode_character(text);
    columns += columns_of(symbol);
    text.remove_prefix(symbol.length);
  }
  return columns;
}

std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t used = 0, bytes = 0;
  while (bytes < text.size()) {
    const DecodedCharacter symbol = decode_character(text.substr(bytes));
    used += columns_of(symbol);
    if (used > columns) break;
    bytes += symbol.length;
  }
  return text.substr(0, bytes);
}

}  // namespace chargpt
