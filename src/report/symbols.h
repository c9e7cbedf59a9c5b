// How a terminal shows UTF-8 text: its symbols one by one and the columns they take. Knows no terminal's state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chargpt {

/// Columns of a terminal: 0 for combining marks, 2 for wide East Asian symbols and emoji, else 1 (also for a byte that
/// is not UTF-8).
std::size_t display_width(std::string_view text);

/// The longest prefix of `text` that fits into `columns`.
std::string_view first_columns(std::string_view text, std::size_t columns);

}  // namespace chargpt
