// How a terminal shows UTF-8 text: its symbols one by one and the columns they take. Knows no terminal's state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chargpt {

/// The first symbol of a text that need not be well-formed.
struct Symbol {
  char32_t code_point = 0;
  std::size_t bytes = 1;
  bool valid = false;  ///< false: one byte that begins no well-formed UTF-8 sequence
};

/// `text` must not be empty.
Symbol first_symbol(std::string_view text);

/// Columns of a terminal: 0 for combining marks, 2 for wide East Asian symbols and emoji, else 1 (also for a byte that
/// is not UTF-8).
std::size_t display_width(std::string_view text);

/// The longest prefix of `text` that fits into `columns`.
std::string_view first_columns(std::string_view text, std::size_t columns);

}  // namespace chargpt
