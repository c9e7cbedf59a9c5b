// Unicode properties of characters. All come from one table of the C library, so that all callers agree.
#pragma once

#include <cstddef>

namespace chargpt {

/// Whether it is a combining mark, which joins the character before it.
bool is_combining_mark(char32_t code_point);

/// Columns that a character takes in a terminal: 0 for marks and invisible characters, 2 for wide East Asian characters
/// and emoji, else 1.
std::size_t columns_of(char32_t code_point);

}  // namespace chargpt
