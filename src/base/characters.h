// Unicode properties of characters. All come from one table of the C library, so that all callers agree.
#pragma once

#include <cstddef>

namespace chargpt {

/// `mark`: a combining mark, which joins the character before it.
enum class CharacterKind { small, capital, letter, digit, mark, other };
CharacterKind kind_of(char32_t code_point);

/// Columns that a character takes in a terminal: 0 for marks and invisible characters, 2 for wide East Asian characters
/// and emoji, else 1.
std::size_t columns_of(char32_t code_point);

}  // namespace chargpt
