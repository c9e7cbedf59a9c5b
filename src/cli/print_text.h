// Text on standard output: every byte of it for a file or a pipe, nothing that a terminal would obey for a terminal.
#pragma once

#include <string_view>

#include "report/table.h"

namespace chargpt {

/// All bytes of `text`, NUL among them; on a terminal as escape_for_terminal shows it.
void print_text(std::string_view text);

/// The table; on a terminal no wider than that, as far as its numbers allow.
void print_table(const Table& table);

}  // namespace chargpt
