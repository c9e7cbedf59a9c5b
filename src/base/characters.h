// What Unicode says of a character, by the C library's one table, so that all places agree. Independent of texts.
#pragma once

#include <cstddef>

namespace chargpt {

/// Of marks only those that join the character before them.
enum class CharacterKind { small, capital, letter, digit, mark, other };
CharacterKind kind_of(char32_t code_point);

/// Columns of a terminal: 0 for marks and what shows nothing, 2 for wide East Asian characters and emoji, else 1.
std::size_t columns_of(char32_t code_point);

}  // namespace chargpt
